#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use proptest::prelude::*;

use super::{Wgsl, compile};
use crate::device::{BindingKind, Limits};
use crate::kernel::tests::limits;
use crate::kernel::{BindingFault, Compiled, KernelError, Place};

const SCALE: &str = "
    struct Params { factor: f32, rows: u32, origin: vec2<f32> }
    struct Table { count: vec4<u32>, rows: array<vec2<f32>> }
    @group(0) @binding(3) var<storage, read_write> target_rows: Table;
    @group(0) @binding(0) var<storage, read> source_rows: array<f32>;
    @group(0) @binding(1) var<uniform> shape: vec4<u32>;
    @group(1) @binding(0) var<uniform> params: Params;
    @group(0) @binding(2) var unused: texture_2d<f32>;
    var<workgroup> tile: array<f32, 64>;

    @compute @workgroup_size(64)
    fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
        tile[id.x % 64] = source_rows[id.x] * params.factor;
        workgroupBarrier();
        target_rows.rows[id.x].x = tile[shape.x] + params.origin.y;
    }

    @compute @workgroup_size(8, 4, 2)
    fn clear() { target_rows.count = vec4(params.rows); }
";

fn built(source: &str) -> Result<Compiled, KernelError> {
    compile(&Wgsl::new(source), &limits())
}

/// A kernel whose body is `body`, with a storage array `v` and an array `w`.
fn with_body(body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> v: array<u32>;
         @compute @workgroup_size(1) fn main() {{ {body} }}"
    )
}

#[test]
fn bindings_are_those_the_entry_uses() {
    let kernel = compile(&Wgsl::new(SCALE).entry("scale"), &limits()).unwrap();
    let slots: Vec<_> = kernel
        .bindings
        .iter()
        .map(|slot| {
            let name = slot.name.as_ref();
            (slot.group, slot.binding, slot.kind, slot.least_bytes, name)
        })
        .collect();
    assert_eq!(
        slots,
        [
            (0, 0, BindingKind::StorageRead, 4, "source_rows"),
            (0, 1, BindingKind::Uniform, 16, "shape"),
            (0, 3, BindingKind::StorageWrite, 32, "target_rows"),
            (1, 0, BindingKind::Uniform, 16, "params"),
        ]
    );
    assert_eq!(kernel.workgroup, [64, 1, 1]);
    assert_eq!(kernel.label.as_ref(), "scale");
    assert_eq!(kernel.spirv[0], 0x0723_0203);
}

#[test]
fn another_entry_binds_its_own() {
    let kernel = compile(&Wgsl::new(SCALE).entry("clear").label("q"), &limits()).unwrap();
    let numbers: Vec<_> = kernel
        .bindings
        .iter()
        .map(|s| (s.group, s.binding))
        .collect();
    assert_eq!(numbers, [(0, 3), (1, 0)]);
    assert_eq!(kernel.workgroup, [8, 4, 2]);
    assert_eq!(kernel.label.as_ref(), "q");
}

#[test]
fn parameters_have_names_and_places() {
    let kernel = compile(&Wgsl::new(SCALE).entry("scale"), &limits()).unwrap();
    let parameters = kernel.parameters.unwrap();
    let members: Vec<_> = parameters
        .members
        .iter()
        .map(|member| (member.name.as_ref(), member.offset, member.bytes))
        .collect();
    assert_eq!(
        members,
        [("factor", 0, 4), ("rows", 4, 4), ("origin", 8, 8)]
    );
    assert_eq!(parameters.bytes, 16);
}

#[test]
fn a_bad_source_names_its_place() {
    let error = built("fn main() {\n  let x = ;\n}").unwrap_err();
    let KernelError::Parse { place, message } = error else {
        panic!("{error}");
    };
    assert_eq!(
        place,
        Some(Place {
            line: 2,
            column: 11
        })
    );
    assert!(message.contains("expected expression"), "{message}");
}

#[test]
fn an_invalid_source_names_its_place() {
    let error = built("@compute @workgroup_size(1)\nfn main() { var x: f16 = 1h; }").unwrap_err();
    assert!(
        matches!(
            error,
            KernelError::Parse { .. } | KernelError::Invalid { .. }
        ),
        "{error}"
    );
    let error = built("fn f() -> u32 { }\n@compute @workgroup_size(1)\nfn main() {}").unwrap_err();
    let KernelError::Invalid { place, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(place.map(|place| place.line), Some(1));
}

#[test]
fn capabilities_beyond_the_base_are_refused() {
    for body in ["v[0] = u32(1li);", "v[0] = u32(subgroupAdd(1u));"] {
        let error = built(&with_body(body)).unwrap_err();
        assert!(
            matches!(
                error,
                KernelError::Parse { .. } | KernelError::Invalid { .. }
            ),
            "{body}: {error}"
        );
    }
}

#[test]
fn a_wrong_entry_lists_those_there_are() {
    let error = compile(&Wgsl::new(SCALE).entry("mian"), &limits()).unwrap_err();
    let expected = KernelError::NoEntryPoint {
        name: "mian".into(),
        known: vec!["scale".into(), "clear".into()],
    };
    assert_eq!(error, expected);
    let unstated = built(SCALE).unwrap_err();
    assert!(matches!(unstated, KernelError::EntryUnstated { known } if known.len() == 2));
    let none = built("@fragment fn main() {}").unwrap_err();
    assert_eq!(none, KernelError::EntryUnstated { known: Vec::new() });
}

const OVERRIDES: &str = "
    override rows: u32;
    override width: u32 = 4;
    @id(7) override bias: i32 = 0;
    override strict: bool = false;
    @group(0) @binding(0) var<storage, read_write> v: array<u32>;
    @compute @workgroup_size(width) fn main() {
        if strict { v[0] = rows + u32(bias); }
    }";

#[test]
fn constants_are_resolved() {
    let wgsl = Wgsl::new(OVERRIDES).constant("rows", 5_u32);
    assert_eq!(compile(&wgsl, &limits()).unwrap().workgroup, [4, 1, 1]);
    let wider = wgsl.clone().constant("width", 32_u32).constant("7", -1);
    let wider = wider.constant("strict", true);
    let kernel = compile(&wider, &limits()).unwrap();
    assert_eq!(kernel.workgroup, [32, 1, 1]);
    let other = compile(&wider.clone().constant("rows", 6_u32), &limits()).unwrap();
    assert_ne!(kernel.spirv, other.spirv);
}

#[test]
fn constants_are_part_of_the_key() {
    let wgsl = Wgsl::new(OVERRIDES).constant("rows", 5_u32);
    let key = wgsl.cache_key();
    assert_eq!(key, wgsl.clone().label("other").cache_key());
    assert_ne!(key, wgsl.clone().constant("rows", 6_u32).cache_key());
    assert_ne!(key, wgsl.clone().entry("main").cache_key());
    assert_ne!(key, Wgsl::new("").constant("rows", 5_u32).cache_key());
}

#[test]
fn wrong_constants_are_named() {
    let failing = |name: &str, value: f64| {
        let wgsl = Wgsl::new(OVERRIDES).constant("rows", 5_u32);
        compile(&wgsl.constant(name, value), &limits()).unwrap_err()
    };
    let unfit = |name: &str, value| KernelError::ConstantUnfit {
        name: name.into(),
        value,
    };
    assert_eq!(failing("rows", -1.0), unfit("rows", -1.0));
    assert_eq!(failing("rows", 1.5), unfit("rows", 1.5));
    assert_eq!(failing("7", 3e9), unfit("7", 3e9));
    assert_eq!(failing("strict", 2.0), unfit("strict", 2.0));
    let nan = failing("rows", f64::NAN);
    assert!(matches!(nan, KernelError::ConstantUnfit { .. }), "{nan}");
    // A constant with an id has no other name.
    let KernelError::NoSuchConstant { name, known } = failing("bias", 1.0) else {
        panic!("a constant was found by a name that it lacks");
    };
    assert_eq!(name.as_ref(), "bias");
    assert_eq!(known.len(), 4);
    let unstated = built(OVERRIDES).unwrap_err();
    let expected = KernelError::ConstantUnstated {
        name: "rows".into(),
    };
    assert_eq!(unstated, expected);
}

fn fault_of(declaration: &str, usage: &str) -> BindingFault {
    let source = format!("{declaration} @compute @workgroup_size(1) fn main() {{ _ = {usage}; }}");
    match built(&source).unwrap_err() {
        KernelError::UnsupportedBinding { name, fault, .. } => {
            assert_eq!(name.as_ref(), "b");
            fault
        }
        other => panic!("{declaration}: {other}"),
    }
}

#[test]
fn bindings_of_no_use_are_refused() {
    assert_eq!(
        fault_of("@group(0) @binding(0) var b: sampler;", "b"),
        BindingFault::NoBuffer
    );
    assert_eq!(
        fault_of("@group(1) @binding(0) var<storage> b: array<u32>;", "b[0]"),
        BindingFault::NotUniform
    );
    for place in ["@group(1) @binding(1)", "@group(2) @binding(0)"] {
        let declaration = format!("{place} var<uniform> b: u32;");
        assert_eq!(fault_of(&declaration, "b"), BindingFault::Group);
    }
    assert_eq!(
        fault_of("@group(0) @binding(256) var<uniform> b: u32;", "b"),
        BindingFault::Number { limit: 255 }
    );
    assert_eq!(
        fault_of(
            "@group(1) @binding(0) var<uniform> b: array<vec4<u32>, 17>;",
            "b[0]"
        ),
        BindingFault::ParametersTooLarge {
            bytes: 272,
            limit_bytes: 256
        }
    );
}

#[test]
fn two_variables_cannot_share_a_place() {
    let error = built(
        "@group(0) @binding(0) var<storage> a: array<u32>;
         @group(0) @binding(0) var<storage, read_write> b: array<u32>;
         @compute @workgroup_size(1) fn main() { b[0] = a[0]; }",
    )
    .unwrap_err();
    assert!(matches!(error, KernelError::Invalid { .. }), "{error}");
}

#[test]
fn more_bindings_than_the_device_has_are_refused() {
    let many: String = (0..5)
        .map(|i| format!("@group(0) @binding({i}) var<storage> b{i}: array<u32>;"))
        .collect();
    let uses: String = (0..5).map(|i| format!("_ = b{i}[0];")).collect();
    let source = format!("{many} @compute @workgroup_size(1) fn main() {{ {uses} }}");
    assert_eq!(
        built(&source).unwrap_err(),
        KernelError::TooManyBindings { count: 5, limit: 4 }
    );
}

#[test]
fn a_binding_past_the_range_is_refused() {
    let error = built(
        "@group(0) @binding(0) var<uniform> b: array<vec4<u32>, 1025>;
         @compute @workgroup_size(1) fn main() { _ = b[0].x; }",
    )
    .unwrap_err();
    let expected = KernelError::BindingTooLarge {
        name: "b".into(),
        least_bytes: 16_400,
        limit_bytes: 16_384,
    };
    assert_eq!(error, expected);
}

#[test]
fn workgroups_past_the_limits_are_refused() {
    for size in ["129", "1, 1, 65", "16, 16", "128, 128, 64"] {
        let source = format!("@compute @workgroup_size({size}) fn main() {{}}");
        let error = built(&source).unwrap_err();
        assert!(
            matches!(error, KernelError::WorkgroupSize { .. }),
            "{error}"
        );
    }
    assert!(built("@compute @workgroup_size(0) fn main() {}").is_err());
    assert!(built("@compute @workgroup_size(128) fn main() {}").is_ok());
}

#[test]
fn oversized_memory_is_refused() {
    let tile = |length| {
        let body = with_body("tile[v[0]] = 1; v[1] = tile[v[2]];");
        built(&format!(
            "var<workgroup> tile: array<u32, {length}>; {body}"
        ))
    };
    assert!(tile(4_096).is_ok());
    let too_much = KernelError::WorkgroupMemory {
        bytes: 16_400,
        limit_bytes: 16_384,
    };
    assert_eq!(tile(4_097).unwrap_err(), too_much);

    let own = |length| {
        built(&with_body(&format!(
            "var own: array<u32, {length}>; own[v[0]] = 1; v[1] = own[v[2]];"
        )))
    };
    assert!(own(1_024).is_ok());
    let error = own(100_000_000).unwrap_err();
    assert!(
        matches!(error, KernelError::InvocationMemory { .. }),
        "{error}"
    );
    let value = built(&with_body(
        "let whole = array<u32, 100000000>(); v[0] = whole[v[1]];",
    ));
    assert!(matches!(
        value.unwrap_err(),
        KernelError::InvocationMemory { .. }
    ));
}

#[test]
fn a_long_source_is_refused() {
    let source = format!("{}{}", with_body(""), " ".repeat(256 * 1024));
    let error = built(&source).unwrap_err();
    assert!(matches!(error, KernelError::TooLong { limit_bytes, .. } if limit_bytes == 256 * 1024));
}

/// The module as text, one instruction a line.
fn listing(source: &str) -> String {
    use rspirv::binary::Disassemble;
    let kernel = built(source).unwrap();
    rspirv::dr::load_words(&kernel.spirv).unwrap().disassemble()
}

#[test]
fn indices_are_kept_inside() {
    let text = listing(&with_body("v[v[0]] = 1;"));
    // The index is cut to the length that the view gives, less one.
    assert!(text.contains("OpArrayLength"), "{text}");
    assert!(text.contains("UMin"), "{text}");
    let fixed = listing(&with_body(
        "var own: array<u32, 9>; own[v[0]] = 1; v[1] = own[v[2]];",
    ));
    // Two indices into the array, and three into the view.
    assert_eq!(fixed.matches("UMin").count(), 5, "{fixed}");
}

#[test]
fn endless_loops_are_bounded() {
    let counted = listing(&with_body("loop { v[0] += 1; }"));
    assert!(
        counted.matches("OpBranchConditional").count() >= 1,
        "{counted}"
    );
}

#[test]
fn workgroup_memory_starts_as_zero() {
    let body = with_body("v[0] = tile[v[1]];");
    let text = listing(&format!("var<workgroup> tile: array<u32, 64>; {body}"));
    // The variable is initialised with the null constant, by the device.
    let null = text
        .lines()
        .filter(|line| line.contains("OpConstantNull"))
        .filter_map(|line| line.split_whitespace().next())
        .any(|id| {
            text.lines()
                .any(|line| line.contains("Workgroup") && line.ends_with(id))
        });
    assert!(null, "{text}");
}

/// 64 KiB of one construction, nested as deep as that allows.
fn nested(open: &str, middle: &str, close: &str) -> String {
    let depth = 65_536 / (open.len() + close.len());
    let expression = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
    with_body(&format!("var x = v[0]; v[1] = {expression};"))
}

#[test]
fn deep_nesting_compiles_or_is_refused() {
    // Compiled: these recurse as deep as the source is long.
    for (open, middle, close) in [("~", "x", ""), ("*&", "x", "")] {
        built(&nested(open, middle, close)).unwrap();
    }
    let chain: String = "else if x == 1 { }".repeat(65_536 / 18);
    built(&with_body(&format!(
        "let x = v[0]; if x == 0 {{ }} {chain}"
    )))
    .unwrap();
    // Refused: brackets have a limit of their own.
    for (open, middle, close) in [("(", "x", ")"), ("v[", "x", "]"), ("abs(", "x", ")")] {
        let error = built(&nested(open, middle, close)).unwrap_err();
        assert!(matches!(error, KernelError::Parse { .. }), "{error}");
    }
    let blocks = with_body(&format!("{}{}", "{".repeat(32_768), "}".repeat(32_768)));
    assert!(matches!(built(&blocks), Err(KernelError::Parse { .. })));
}

#[test]
fn a_long_sum_compiles_on_its_own_stack() {
    // On a thread of the default size this overflows and ends the process.
    let sum = format!("x{}", " + x".repeat(3_000));
    built(&with_body(&format!("let x = v[0]; v[1] = {sum};"))).unwrap();
}

/// Pieces of the language, so that random sources get past the first token.
const PIECES: [&str; 22] = [
    "fn f(",
    ") {",
    "}",
    "let a = ",
    "var<storage> b: ",
    "array<u32",
    ">",
    ";",
    "@group(0)",
    "@binding(1)",
    "@compute",
    "@workgroup_size(",
    "1",
    ")",
    "v[",
    "]",
    "override c: u32",
    "struct S {",
    "loop {",
    "v[0] = ",
    "+ 1u",
    "*&",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_text_never_panics(source in "\\PC{0,200}") {
        let outcome = built(&source);
        prop_assert!(!matches!(outcome, Err(KernelError::CompilerPanicked)));
    }

    #[test]
    fn random_pieces_never_panic(picked in prop::collection::vec(0..PIECES.len(), 0..40)) {
        let source: String = picked.iter().map(|&index| PIECES[index]).collect();
        let outcome = built(&source);
        prop_assert!(!matches!(outcome, Err(KernelError::CompilerPanicked)));
    }

    #[test]
    fn cut_sources_never_panic(start in 0..SCALE.len(), length in 0..SCALE.len()) {
        let end = SCALE.len().min(start + length);
        let source = format!("{}{}", &SCALE[..start], &SCALE[end..]);
        let outcome = compile(&Wgsl::new(source).entry("scale"), &limits());
        prop_assert!(!matches!(outcome, Err(KernelError::CompilerPanicked)));
    }
}

#[test]
fn limits_of_zero_refuse_politely() {
    let none = Limits {
        workgroup: [0; 3],
        storage_bindings: 0,
        ..limits()
    };
    let outcome = compile(&Wgsl::new(SCALE).entry("scale"), &none);
    assert!(matches!(outcome, Err(KernelError::TooManyBindings { .. })));
}
