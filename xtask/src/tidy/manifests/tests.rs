use super::check;
use crate::tidy::tree::Tree;

/// A workspace where everything is in order, but for one manifest.
fn with(name: &str, manifest: &str) -> Vec<String> {
    let fine = "[dependencies]\n";
    let backend = "[features]\ndefault = [\"tokio\"]\ntokio = [\"dep:tokio\"]\n\
                   [dependencies]\ntokio = { workspace = true, optional = true }\n";
    let mut files = vec![
        ("crates/runtime-sync/Cargo.toml".to_owned(), fine),
        ("crates/runtime-core/Cargo.toml".to_owned(), fine),
        ("crates/native-session/Cargo.toml".to_owned(), fine),
        ("crates/backend-metrics/Cargo.toml".to_owned(), fine),
        ("crates/backend-session/Cargo.toml".to_owned(), backend),
    ];
    let path = format!("crates/{name}/Cargo.toml");
    files.retain(|(other, _)| *other != path);
    files.push((path, manifest));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    check(&Tree::of(&files))
        .into_iter()
        .map(|violation| violation.words)
        .collect()
}

#[test]
fn an_orderly_workspace_passes() {
    assert!(
        with(
            "runtime-core",
            "[dependencies]\nruntime-sync = \"1\"\nash = \"1\""
        )
        .is_empty()
    );
}

#[test]
fn runtime_core_knows_no_tokio() {
    assert_eq!(
        with("runtime-core", "[dependencies]\ntokio = \"1\""),
        ["`runtime-core` must not depend on `tokio`"]
    );
}

#[test]
fn a_renamed_dependency_is_seen() {
    let manifest = "[dependencies]\nexecutor = { version = \"1\", package = \"tokio\" }";
    assert_eq!(with("runtime-core", manifest).len(), 1);
}

#[test]
fn a_target_dependency_is_seen() {
    let manifest = "[target.'cfg(unix)'.dependencies]\nash = \"1\"";
    assert_eq!(
        with("backend-metrics", manifest),
        ["`backend-metrics` must not depend on `ash`"]
    );
}

#[test]
fn tests_may_use_what_ships_not() {
    let manifest = "[dev-dependencies]\ntokio = \"1\"\nash = \"1\"";
    assert!(with("native-session", manifest).is_empty());
}

#[test]
fn backend_metrics_knows_no_runtime() {
    assert_eq!(
        with("backend-metrics", "[dependencies]\nruntime-core = \"1\""),
        ["`backend-metrics` must not know `runtime-core`"]
    );
}

#[test]
fn backend_session_reaches_no_gpu_itself() {
    let manifest = "[features]\ndefault = [\"tokio\"]\n[dependencies]\nash = \"1\"";
    assert_eq!(
        with("backend-session", manifest),
        ["`backend-session` must not depend on `ash`"]
    );
}

#[test]
fn tokio_is_optional_in_backend_session() {
    let manifest = "[features]\ndefault = [\"tokio\"]\n[dependencies]\ntokio = \"1\"";
    assert_eq!(
        with("backend-session", manifest),
        ["`tokio` must be optional, behind the feature `tokio`"]
    );
}

#[test]
fn no_other_feature_turns_tokio_on() {
    let manifest = "[features]\ndefault = [\"tokio\"]\nother = [\"dep:tokio-util\"]\n";
    assert_eq!(
        with("backend-session", manifest),
        ["the feature `other` turns on `tokio-util`; only `tokio` may"]
    );
}

#[test]
fn tokio_stays_a_default_feature() {
    assert_eq!(
        with("backend-session", "[features]\ndefault = []\n"),
        ["the feature `tokio` must be a default one"]
    );
}

#[test]
fn libraries_install_no_subscriber() {
    let manifest = "[dependencies]\ntracing-subscriber = \"1\"";
    assert_eq!(with("native-session", manifest).len(), 1);
}

#[test]
fn a_missing_manifest_is_told() {
    assert_eq!(check(&Tree::default()).len(), 5);
}
