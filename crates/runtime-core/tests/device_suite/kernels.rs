//! Kernels compute exactly, stay in their views, and fail alone.

use std::time::Duration;

use runtime_core::kernel::Wgsl;
use runtime_core::{Dispatch, Error, ErrorKind, Invalid, Kernel, Lane};

use crate::fixture::{Bench, bench, pattern};

const LONG: Duration = Duration::from_secs(60);

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// `target[i] = source[i] * 3 + target[i]`, for all of both.
fn add_tripled(bench: &Bench) -> Kernel {
    let source = "
        @group(0) @binding(0) var<storage, read> source: array<u32>;
        @group(0) @binding(1) var<storage, read_write> sums: array<u32>;
        @compute @workgroup_size(64)
        fn add_tripled(
            @builtin(global_invocation_id) id: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>,
        ) {
            let i = id.x + id.y * groups.x * 64u;
            if i < arrayLength(&sums) && i < arrayLength(&source) {
                sums[i] = sums[i] + source[i] * 3u;
            }
        }";
    bench.runtime.kernel(Wgsl::new(source)).unwrap()
}

fn run(bench: &Bench, dispatch: Dispatch) {
    let mut graph = bench.runtime.graph();
    graph.dispatch(dispatch).unwrap();
    let run = graph.prepare().unwrap().run().submit().unwrap();
    run.wait_timeout(LONG).unwrap();
}

#[test]
fn a_kernel_computes_on_its_views_alone() {
    let bench = bench();
    let align = bench.runtime.device().limits.storage_align_bytes;
    let (source, start) = (pattern(4000, 1), pattern(8192, 2));
    let (from, sums) = (bench.filled(&source), bench.filled(&start));
    let part = sums.view().slice(align * 2, 4000).unwrap();
    let kernel = add_tripled(&bench);
    let dispatch = Dispatch::new(&kernel)
        .bind("source", &from.view())
        .bind("sums", &part);
    run(&bench, dispatch.groups([16, 1, 1]));

    let first = usize::try_from(align * 2 / 4).unwrap();
    let mut expected = words(&start);
    for (sum, value) in expected[first..].iter_mut().zip(words(&source)) {
        *sum = sum.wrapping_add(value.wrapping_mul(3));
    }
    assert_eq!(words(&bench.bytes(&sums)), expected);
}

#[test]
fn elements_are_split_over_axes() {
    let bench = bench();
    let limit = u64::from(bench.runtime.device().limits.groups[0]);
    // More workgroups than one axis takes, where memory for that is sane.
    let elements = if limit <= 65_535 {
        (limit + 10) * 64
    } else {
        100_000
    };
    let [from, sums] = [1, 2].map(|word| {
        let buffer = bench.buffer(elements * 4);
        let mut graph = bench.runtime.graph();
        graph.fill(&buffer.view(), word).unwrap();
        let run = graph.prepare().unwrap().run().submit().unwrap();
        run.wait_timeout(LONG).unwrap();
        buffer
    });
    let dispatch = Dispatch::new(&add_tripled(&bench))
        .bind_index(0, &from.view())
        .bind_index(1, &sums.view());
    run(&bench, dispatch.elements(elements));
    let sums = words(&bench.bytes(&sums));
    assert!(sums.iter().all(|sum| *sum == 5));
}

#[test]
fn upload_compute_download_is_exact() {
    let bench = bench();
    let kernel = add_tripled(&bench);
    let (from, sums) = (bench.buffer(1024), bench.buffer(1024));
    let mut graph = bench.runtime.graph();
    let input = graph.upload(&from.view()).unwrap();
    graph.fill(&sums.view(), 7).unwrap();
    for _ in 0..3 {
        let dispatch = Dispatch::new(&kernel)
            .bind("source", &from.view())
            .bind("sums", &sums.view());
        graph.dispatch(dispatch.elements(256)).unwrap();
    }
    graph
        .copy_on(Lane::Compute, &sums.view(), &from.view())
        .unwrap();
    let output = graph.download(&from.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    drop((kernel, from, sums));
    for seed in 0..5 {
        let content = pattern(1024, seed);
        let run = prepared.run().input(input, &content).unwrap();
        let run = run.submit().unwrap();
        run.wait_timeout(LONG).unwrap();
        let expected: Vec<u32> = words(&content)
            .iter()
            .map(|value| value.wrapping_mul(9).wrapping_add(7))
            .collect();
        assert_eq!(run.output::<u8>(output).unwrap(), bytes(&expected));
    }
}

// D15
#[test]
fn group_counts_name_axis_and_limit() {
    let bench = bench();
    let kernel = add_tripled(&bench);
    let (from, sums) = (bench.buffer(256), bench.buffer(256));
    let limits = bench.runtime.device().limits.groups;
    let axes = ["x", "y", "z"];
    for axis in 0..3 {
        for count in [70_000, 0, u32::MAX] {
            let mut groups = [1; 3];
            groups[axis] = count;
            let dispatch = Dispatch::new(&kernel)
                .bind("source", &from.view())
                .bind("sums", &sums.view())
                .groups(groups);
            let mut graph = bench.runtime.graph();
            match graph.dispatch(dispatch).map(|_| ()) {
                Err(Error::Invalid(Invalid::NoGroups { axis: told })) => {
                    assert_eq!((count, usize::from(told)), (0, axis));
                }
                Err(Error::Invalid(Invalid::OverLimit { what, value, limit })) => {
                    assert!(what.ends_with(axes[axis]));
                    assert_eq!((value, limit), (count.into(), limits[axis].into()));
                }
                Ok(()) => assert!((1..=limits[axis]).contains(&count)),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn bindings_that_do_not_fit_are_refused() {
    let bench = bench();
    let kernel = add_tripled(&bench);
    let (from, sums) = (bench.buffer(256).view(), bench.buffer(256).view());
    let refused = |dispatch: Dispatch| {
        let mut graph = bench.runtime.graph();
        let outcome = graph.dispatch(dispatch.groups([1; 3])).map(|_| ());
        match outcome {
            Err(Error::Invalid(invalid)) => invalid,
            other => panic!("{other:?}"),
        }
    };
    let start = || Dispatch::new(&kernel);
    assert!(matches!(
        refused(start().bind("source", &from)),
        Invalid::Unbound {
            group: 0,
            binding: 1,
            ..
        }
    ));
    assert!(matches!(
        refused(start().bind("nothing", &from)),
        Invalid::NoSuchBinding { .. }
    ));
    assert!(matches!(
        refused(start().bind("source", &sums).bind("sums", &sums)),
        Invalid::Aliasing { .. }
    ));
    let short = sums.slice(0, 3).unwrap();
    assert!(matches!(
        refused(start().bind("source", &from).bind("sums", &short)),
        Invalid::ShortBinding {
            least_bytes: 4,
            bytes: 3,
            ..
        }
    ));
    let odd = sums.slice(1, 8).unwrap();
    assert!(matches!(
        refused(start().bind("source", &from).bind("sums", &odd)),
        Invalid::Unaligned { value: 1, .. }
    ));
}

// R34
#[test]
fn a_kernel_of_another_runtime_is_refused() {
    let (ours, theirs) = (bench(), bench());
    let kernel = add_tripled(&theirs);
    let (from, sums) = (ours.buffer(256), ours.buffer(256));
    let dispatch = Dispatch::new(&kernel)
        .bind("source", &from.view())
        .bind("sums", &sums.view());
    let mut graph = ours.runtime.graph();
    assert!(matches!(
        graph.dispatch(dispatch.elements(64)).map(|_| ()),
        Err(Error::Invalid(Invalid::ForeignRuntime { what: "kernel" }))
    ));
}

// D03
#[test]
fn a_bad_kernel_fails_alone() {
    let bench = bench();
    let good = add_tripled(&bench);
    for source in [
        "",
        "this is no kernel",
        "@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }",
        "@compute @workgroup_size(0) fn main() {}",
        "@compute @workgroup_size(4096, 4096) fn main() {}",
        "@group(0) @binding(0) var t: texture_2d<f32>;
         @compute @workgroup_size(1) fn main() { let d = textureDimensions(t); }",
    ] {
        let error = bench.runtime.kernel(Wgsl::new(source)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Kernel, "{source}: {error}");
    }
    let source = "@compute @workgroup_size(1) fn main() {}";
    let wrong = Wgsl::new(source).entry("other");
    let error = bench.runtime.kernel(wrong).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel);

    let (from, sums) = (bench.filled(&bytes(&[1, 2])), bench.filled(&bytes(&[3, 4])));
    let dispatch = Dispatch::new(&good)
        .bind("source", &from.view())
        .bind("sums", &sums.view());
    run(&bench, dispatch.elements(2));
    assert_eq!(words(&bench.bytes(&sums)), [6, 10]);
    assert!(bench.runtime.quarantine().is_empty());
}

/// Bytes around a view, which must stay as they are.
const GUARD: u64 = 4096;

// R39
#[test]
fn wild_indices_stay_in_the_view() {
    let bench = bench();
    if bench.controls.is_some() {
        // A host function is no shader; there is nothing to contain.
        return;
    }
    let source = "
        @group(0) @binding(0) var<storage, read_write> values: array<u32>;
        var<workgroup> shared_words: array<u32, 8>;
        @compute @workgroup_size(64)
        fn wild(
            @builtin(global_invocation_id) id: vec3<u32>,
            @builtin(local_invocation_index) local: u32,
        ) {
            shared_words[local * 977u] = 1u;
            workgroupBarrier();
            for (var step = 0u; step < 64u; step++) {
                values[id.x * 64u + step] = 0xBADu;
                values[0u - (id.x * 64u + step + 1u)] = 0xBADu;
            }
            let far = id.x + 0x7FFFFFF0u;
            values[far * 2u] = shared_words[local + 4000000u] + values[far];
        }";
    let kernel = bench.runtime.kernel(Wgsl::new(source)).unwrap();
    let content = pattern(GUARD as usize * 2 + 256, 4);
    for bytes in [4, 8, 60, 256] {
        let buffer = bench.filled(&content);
        let view = buffer.view().slice(GUARD, bytes).unwrap();
        let dispatch = Dispatch::new(&kernel).bind("values", &view);
        run(&bench, dispatch.groups([8, 1, 1]));
        let after = bench.bytes(&buffer);
        let (start, end) = (GUARD as usize, (GUARD + bytes) as usize);
        assert!(after[..start] == content[..start], "before {bytes} bytes");
        assert!(after[end..] == content[end..], "behind {bytes} bytes");
        assert!(after[start..end] != content[start..end]);
    }
}

/// Keeps its invocation busy for a good part of a second.
fn slow(bench: &Bench) -> Kernel {
    let source = "
        @group(0) @binding(0) var<storage, read_write> state: array<u32>;
        @compute @workgroup_size(1)
        fn slow() {
            var value = state[0];
            for (var step = 0u; step < 100000000u; step++) {
                value = (value ^ (value << 13u)) + step;
                value = value ^ (value >> 17u);
            }
            state[0] = value | 1u;
        }";
    bench.runtime.kernel(Wgsl::new(source)).unwrap()
}

// R02, R10, R19, D05
#[test]
fn slow_work_is_bounded_and_survives() {
    let options = runtime_core::RuntimeOptions::default();
    let bench = crate::fixture::bench_with(options.max_submissions(1));
    let state = bench.buffer(4);
    let mut graph = bench.runtime.graph();
    let dispatch = Dispatch::new(&slow(&bench)).bind("state", &state.view());
    graph.dispatch(dispatch.groups([1; 3])).unwrap();
    let output = graph.download(&state.view()).unwrap();
    let prepared = graph.prepare().unwrap();
    if let Some(controls) = &bench.controls {
        controls.hold_all();
    }
    let first = prepared.run().submit().unwrap();
    // A real device may be done already when this thread was kept from running.
    match prepared.run().submit() {
        Err(error) => assert_eq!(error.code(), "busy_capacity"),
        Ok(_) => assert!(bench.controls.is_none() && first.is_complete()),
    }
    match first.wait_timeout(Duration::from_millis(1)) {
        Err(error) => assert_eq!(error.code(), "timed_out"),
        Ok(()) => assert!(bench.controls.is_none()),
    }
    if let Some(controls) = &bench.controls {
        controls.release_all();
    }
    let second = prepared.run().submit_timeout(LONG).unwrap();
    assert!(first.is_complete());
    first.wait().unwrap();
    drop((prepared, state));
    second.wait_timeout(LONG).unwrap();
    assert_eq!(second.output::<u32>(output).unwrap()[0] & 1, 1);
    assert!(bench.runtime.quarantine().is_empty());
}
