use clap::{CommandFactory, Parser};

use super::{Command, CommandLine};

#[test]
fn the_command_line_is_sound() {
    CommandLine::command().debug_assert();
}

#[test]
fn unknown_arguments_reach_the_demo() {
    for words in [
        ["xtask", "demo", "--scale", "0.1", "--help"].as_slice(),
        &["xtask", "demo", "--", "--scale", "0.1", "--help"],
    ] {
        let line = CommandLine::try_parse_from(words).unwrap();
        let Command::Demo(options) = line.command else {
            panic!("another command");
        };
        assert_eq!(options.args(), ["--scale", "0.1", "--help"]);
    }
}

#[test]
fn help_of_the_demo_needs_no_setup() {
    let only_asks = |words: &[&str]| {
        let words = ["xtask", "demo"].iter().chain(words);
        let Command::Demo(options) = CommandLine::try_parse_from(words).unwrap().command else {
            panic!("not the demo");
        };
        options.only_asks()
    };
    assert!(only_asks(&["--help"]) && only_asks(&["--", "-V"]));
    assert!(!only_asks(&[]) && !only_asks(&["--scale", "0.1"]));
}
