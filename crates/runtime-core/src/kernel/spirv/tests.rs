#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by a panic")]

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel,
    FunctionControl, MemoryModel, StorageClass, Word,
};

use proptest::prelude::*;

use super::{Contract, Spirv, check};
use crate::device::BindingKind;
use crate::kernel::tests::limits;
use crate::kernel::{BindingFault, Compiled, KernelError, Malformed, Parameter};

/// A module under construction: `main` copies `source[0]` to `target[0]`.
struct Draft {
    builder: Builder,
    word: Word,
    function: Word,
    variables: Vec<Word>,
}

impl Draft {
    fn new() -> Self {
        let mut builder = Builder::new();
        builder.set_version(1, 3);
        builder.capability(Capability::Shader);
        builder.memory_model(AddressingModel::Logical, MemoryModel::GLSL450);
        let word = builder.type_int(32, 0);
        let function = builder.id();
        Self {
            builder,
            word,
            function,
            variables: Vec::new(),
        }
    }

    /// A block with one array, in `class`, as a variable that `main` loads.
    fn block(&mut self, class: StorageClass, group: u32, binding: u32) -> (Word, Word) {
        let array = self.builder.type_runtime_array(self.word);
        let block = self.builder.type_struct([array]);
        let pointer = self.builder.type_pointer(None, class, block);
        let variable = self.builder.variable(pointer, None, class, None);
        self.place(variable, group, binding);
        self.variables.push(variable);
        (block, variable)
    }

    fn place(&mut self, variable: Word, group: u32, binding: u32) {
        let number = |number| [Operand::LiteralBit32(number)];
        self.builder
            .decorate(variable, Decoration::DescriptorSet, number(group));
        self.builder
            .decorate(variable, Decoration::Binding, number(binding));
    }

    fn reads(&mut self, binding: u32) {
        let (_, variable) = self.block(StorageClass::StorageBuffer, 0, binding);
        self.builder.decorate(variable, Decoration::NonWritable, []);
    }

    fn writes(&mut self, binding: u32) {
        self.block(StorageClass::StorageBuffer, 0, binding);
    }

    /// Ends `main`, which uses the variables through a function that it calls.
    fn finish(mut self, local_size: Option<[u32; 3]>) -> Vec<u32> {
        let builder = &mut self.builder;
        let void = builder.type_void();
        let signature = builder.type_function(void, []);
        let callee = builder
            .begin_function(void, None, FunctionControl::NONE, signature)
            .unwrap();
        builder.begin_block(None).unwrap();
        for &variable in &self.variables {
            builder.array_length(self.word, None, variable, 0).unwrap();
        }
        builder.ret().unwrap();
        builder.end_function().unwrap();
        builder
            .begin_function(void, Some(self.function), FunctionControl::NONE, signature)
            .unwrap();
        builder.begin_block(None).unwrap();
        builder.function_call(void, None, callee, []).unwrap();
        builder.ret().unwrap();
        builder.end_function().unwrap();
        builder.entry_point(ExecutionModel::GLCompute, self.function, "main", []);
        builder.entry_point(ExecutionModel::Vertex, self.function, "draw", []);
        if let Some(size) = local_size {
            builder.execution_mode(self.function, ExecutionMode::LocalSize, size);
        }
        self.builder.module().assemble()
    }
}

fn copier() -> Vec<u32> {
    let mut draft = Draft::new();
    draft.reads(0);
    draft.writes(1);
    draft.finish(Some([64, 1, 1]))
}

fn copying() -> Contract {
    Contract::new().writes(1, "target", 4).reads(0, "source", 4)
}

fn checked(words: Vec<u32>, contract: Contract) -> Result<Compiled, KernelError> {
    check(&Spirv::new(words, "main", contract), &limits())
}

#[test]
fn a_module_that_keeps_its_contract_passes() {
    let kernel = checked(copier(), copying()).unwrap();
    let slots: Vec<_> = kernel
        .bindings
        .iter()
        .map(|slot| (slot.binding, slot.kind, slot.name.as_ref()))
        .collect();
    assert_eq!(
        slots,
        [
            (0, BindingKind::StorageRead, "source"),
            (1, BindingKind::StorageWrite, "target"),
        ]
    );
    assert_eq!(kernel.workgroup, [64, 1, 1]);
    assert_eq!(kernel.label.as_ref(), "main");
}

#[test]
fn bytes_of_a_file_are_words() {
    let words = copier();
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let kernel = Spirv::from_bytes(&bytes, "main", copying()).unwrap();
    assert_eq!(check(&kernel, &limits()).unwrap().spirv.as_ref(), words);
    bytes.pop();
    let error = Spirv::from_bytes(&bytes, "main", copying()).unwrap_err();
    let partial = Malformed::PartialWord { bytes: bytes.len() };
    assert_eq!(error, KernelError::Malformed(partial));
    let huge = vec![0; 4 * 1024 * 1024 + 4];
    let error = Spirv::from_bytes(&huge, "main", copying()).unwrap_err();
    assert!(matches!(error, KernelError::TooLong { .. }));
}

fn malformed(words: Vec<u32>) -> Malformed {
    match checked(words, copying()).unwrap_err() {
        KernelError::Malformed(malformed) => malformed,
        other => panic!("{other}"),
    }
}

#[test]
fn a_broken_header_is_named() {
    assert_eq!(malformed(Vec::new()), Malformed::NoHeader);
    assert_eq!(malformed(vec![7; 5]), Malformed::Magic { word: 7 });
    let swapped = copier().into_iter().map(u32::swap_bytes).collect();
    assert_eq!(malformed(swapped), Malformed::ByteOrder);
    let mut words = copier();
    words[1] = 0x0001_0700;
    let newer = Malformed::Version { major: 1, minor: 7 };
    assert_eq!(malformed(words), newer);
    for bound in [0, u32::MAX] {
        let mut words = copier();
        words[3] = bound;
        assert_eq!(malformed(words), Malformed::Bound { bound });
    }
}

#[test]
fn an_impossible_length_is_named() {
    for length in [0, 0xffff_u32] {
        let mut words = copier();
        words[5] = (length << 16) | (words[5] & 0xffff);
        assert_eq!(malformed(words), Malformed::Framing { word: 5 });
    }
}

#[test]
fn a_truncated_module_is_refused() {
    let words = copier();
    for length in 0..words.len() {
        let outcome = checked(words[..length].to_vec(), copying());
        assert!(outcome.is_err(), "{length} of {} words", words.len());
    }
}

#[test]
fn a_wrong_entry_lists_compute_entries() {
    for name in ["mian", "draw"] {
        let error = check(&Spirv::new(copier(), name, copying()), &limits()).unwrap_err();
        let expected = KernelError::NoEntryPoint {
            name: name.into(),
            known: vec!["main".into()],
        };
        assert_eq!(error, expected);
    }
}

fn broken(contract: Contract) -> (u32, Option<BindingKind>, Option<BindingKind>) {
    match checked(copier(), contract).unwrap_err() {
        KernelError::ContractBroken {
            binding,
            stated,
            found,
            ..
        } => (binding, stated, found),
        other => panic!("{other}"),
    }
}

#[test]
fn a_broken_contract_names_the_binding() {
    use BindingKind::{StorageRead, StorageWrite, Uniform};
    let absent = broken(Contract::new().reads(0, "source", 4));
    assert_eq!(absent, (1, None, Some(StorageWrite)));
    let extra = broken(copying().uniform(2, "shape", 16));
    assert_eq!(extra, (2, Some(Uniform), None));
    let unkept = Contract::new().reads(0, "source", 4).reads(1, "target", 4);
    assert_eq!(broken(unkept), (1, Some(StorageRead), Some(StorageWrite)));
    // Treating a buffer as written although it is only read is merely careful.
    let careful = Contract::new().writes(0, "source", 4).writes(1, "t", 4);
    assert!(checked(copier(), careful).is_ok());
}

#[test]
fn unused_variables_are_not_bound() {
    let mut draft = Draft::new();
    draft.writes(5);
    draft.variables.clear();
    draft.writes(0);
    let kernel = checked(
        draft.finish(Some([1; 3])),
        Contract::new().writes(0, "v", 4),
    );
    assert_eq!(kernel.unwrap().bindings.len(), 1);
}

#[test]
fn blocks_of_read_only_members_are_read() {
    let mut draft = Draft::new();
    let (block, _) = draft.block(StorageClass::StorageBuffer, 0, 0);
    draft
        .builder
        .member_decorate(block, 0, Decoration::NonWritable, []);
    let words = draft.finish(Some([1; 3]));
    assert!(checked(words, Contract::new().reads(0, "v", 4)).is_ok());
}

#[test]
fn old_storage_blocks_are_storage() {
    let mut draft = Draft::new();
    let (block, _) = draft.block(StorageClass::Uniform, 0, 0);
    draft.builder.decorate(block, Decoration::BufferBlock, []);
    let words = draft.finish(Some([1; 3]));
    assert!(checked(words, Contract::new().writes(0, "v", 4)).is_ok());
}

#[test]
fn parameters_come_from_the_contract() {
    let mut draft = Draft::new();
    draft.block(StorageClass::Uniform, 1, 0);
    let words = draft.finish(Some([1; 3]));
    let rows = Parameter {
        name: "rows".into(),
        offset: 0,
        bytes: 4,
    };
    let contract = Contract::new().parameters(16, [rows.clone()]);
    let kernel = checked(words.clone(), contract).unwrap();
    assert_eq!(kernel.parameters.unwrap().members, [rows]);
    assert_eq!(
        (kernel.bindings[0].group, kernel.bindings[0].binding),
        (1, 0)
    );
    let error = checked(words, Contract::new().parameters(257, [])).unwrap_err();
    assert!(matches!(
        error,
        KernelError::UnsupportedBinding {
            fault: BindingFault::ParametersTooLarge { bytes: 257, .. },
            ..
        }
    ));
}

fn fault_of(draft: Draft) -> BindingFault {
    match checked(draft.finish(Some([1; 3])), Contract::new()).unwrap_err() {
        KernelError::UnsupportedBinding { fault, .. } => fault,
        other => panic!("{other}"),
    }
}

#[test]
fn what_cannot_be_bound_is_refused() {
    let mut draft = Draft::new();
    draft.block(StorageClass::PushConstant, 0, 0);
    assert_eq!(fault_of(draft), BindingFault::Immediate);
    let mut draft = Draft::new();
    draft.block(StorageClass::UniformConstant, 0, 0);
    assert_eq!(fault_of(draft), BindingFault::NoBuffer);
    let mut draft = Draft::new();
    draft.writes(0);
    draft.reads(0);
    assert_eq!(fault_of(draft), BindingFault::Taken);

    let mut draft = Draft::new();
    let block = draft.builder.type_struct([draft.word]);
    let array = draft.builder.type_runtime_array(block);
    let class = StorageClass::StorageBuffer;
    let pointer = draft.builder.type_pointer(None, class, array);
    let variable = draft.builder.variable(pointer, None, class, None);
    draft.place(variable, 0, 0);
    draft.variables.push(variable);
    assert_eq!(fault_of(draft), BindingFault::Array);
}

#[test]
fn a_contract_cannot_name_a_place_twice() {
    let error = checked(copier(), copying().reads(1, "again", 4)).unwrap_err();
    assert!(matches!(
        error,
        KernelError::UnsupportedBinding {
            fault: BindingFault::Taken,
            ..
        }
    ));
}

#[test]
fn capabilities_beyond_the_base_are_refused() {
    let mut draft = Draft::new();
    draft.builder.capability(Capability::Int64);
    let error = checked(draft.finish(Some([1; 3])), Contract::new()).unwrap_err();
    let expected = KernelError::UnsupportedCapability {
        name: "Int64".into(),
    };
    assert_eq!(error, expected);
}

#[test]
fn the_workgroup_is_stated_once() {
    let words = |size| Draft::new().finish(size);
    let of =
        |contract: Contract, size| checked(words(size), contract).map(|kernel| kernel.workgroup);
    assert_eq!(of(Contract::new(), Some([4, 2, 1])), Ok([4, 2, 1]));
    assert_eq!(
        of(Contract::new().workgroup([8, 1, 1]), None),
        Ok([8, 1, 1])
    );
    assert_eq!(
        of(Contract::new(), None),
        Err(KernelError::WorkgroupUnstated)
    );
    assert_eq!(
        of(Contract::new().workgroup([8, 1, 1]), Some([4, 2, 1])),
        Err(KernelError::WorkgroupBroken {
            stated: [8, 1, 1],
            found: [4, 2, 1]
        })
    );
    let past = of(Contract::new(), Some([129, 1, 1]));
    assert!(matches!(past, Err(KernelError::WorkgroupSize { .. })));
}

#[test]
fn a_decorated_size_goes_before_the_mode() {
    let decorated = |specialized: bool| {
        let mut draft = Draft::new();
        let builder = &mut draft.builder;
        let vector = builder.type_vector(draft.word, 3);
        let sizes = [2, 3, 4].map(|size| builder.constant_bit32(draft.word, size));
        let size = if specialized {
            builder.spec_constant_composite(vector, sizes)
        } else {
            builder.constant_composite(vector, sizes)
        };
        builder.decorate(
            size,
            Decoration::BuiltIn,
            [Operand::BuiltIn(BuiltIn::WorkgroupSize)],
        );
        draft.finish(Some([1; 3]))
    };
    let found = checked(decorated(false), Contract::new()).unwrap();
    assert_eq!(found.workgroup, [2, 3, 4]);
    assert_eq!(
        checked(decorated(true), Contract::new()).unwrap_err(),
        KernelError::WorkgroupUnstated
    );
}

#[test]
fn only_known_constants_are_specialized() {
    let mut draft = Draft::new();
    let constant = draft.builder.spec_constant_bit32(draft.word, 1);
    draft
        .builder
        .decorate(constant, Decoration::SpecId, [Operand::LiteralBit32(9)]);
    let kernel = Spirv::new(draft.finish(Some([1; 3])), "main", Contract::new());
    let known = check(&kernel.clone().specialize(9, 5), &limits()).unwrap();
    assert_eq!(known.specialization, [(9, 5)]);
    let error = check(&kernel.specialize(8, 5), &limits()).unwrap_err();
    let expected = KernelError::NoSuchConstant {
        name: "8".into(),
        known: vec!["9".into()],
    };
    assert_eq!(error, expected);
}

proptest! {
    #[test]
    fn random_words_never_panic(mut words in prop::collection::vec(any::<u32>(), 0..64), head: bool) {
        if head && words.len() >= 5 {
            words[..5].copy_from_slice(&copier()[..5]);
        }
        let outcome = checked(words, copying());
        prop_assert!(outcome.is_err());
        prop_assert!(!matches!(outcome, Err(KernelError::CompilerPanicked)));
    }

    #[test]
    fn changed_words_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>(), 0..3), 1..4),
    ) {
        let mut words = copier();
        for (index, word, how) in changes {
            let place = index.get_mut(&mut words);
            *place = match how {
                0 => word,
                1 => word % 32,
                _ => *place ^ (1 << (word % 32)),
            };
        }
        let outcome = checked(words, copying());
        prop_assert!(!matches!(outcome, Err(KernelError::CompilerPanicked)));
    }
}
