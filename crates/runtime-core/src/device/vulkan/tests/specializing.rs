//! Specialization constants, which WGSL kernels resolve before they get here.

use rspirv::binary::Assemble;
use rspirv::dr::{Builder, Operand};
use rspirv::spirv;

use super::*;
use crate::device::{BindingKind, BindingSlot, BoundSpan};

/// A kernel that writes the constants 3 and 9 to the first two words of its
/// buffer; by default they are 100 and 200.
fn module() -> Vec<u32> {
    let mut b = Builder::new();
    b.set_version(1, 3);
    b.capability(spirv::Capability::Shader);
    b.memory_model(spirv::AddressingModel::Logical, spirv::MemoryModel::GLSL450);
    let void = b.type_void();
    let word = b.type_int(32, 0);
    let words = b.type_runtime_array(word);
    b.decorate(
        words,
        spirv::Decoration::ArrayStride,
        [Operand::LiteralBit32(4)],
    );
    let block = b.type_struct([words]);
    b.decorate(block, spirv::Decoration::Block, []);
    b.member_decorate(
        block,
        0,
        spirv::Decoration::Offset,
        [Operand::LiteralBit32(0)],
    );
    let storage = spirv::StorageClass::StorageBuffer;
    let to_block = b.type_pointer(None, storage, block);
    let to_word = b.type_pointer(None, storage, word);
    let target = b.variable(to_block, None, storage, None);
    b.decorate(
        target,
        spirv::Decoration::DescriptorSet,
        [Operand::LiteralBit32(0)],
    );
    b.decorate(
        target,
        spirv::Decoration::Binding,
        [Operand::LiteralBit32(0)],
    );
    let zero = b.constant_bit32(word, 0);
    let one = b.constant_bit32(word, 1);
    let first = b.spec_constant_bit32(word, 100);
    b.decorate(first, spirv::Decoration::SpecId, [Operand::LiteralBit32(3)]);
    let second = b.spec_constant_bit32(word, 200);
    b.decorate(
        second,
        spirv::Decoration::SpecId,
        [Operand::LiteralBit32(9)],
    );

    let signature = b.type_function(void, []);
    let main = b
        .begin_function(void, None, spirv::FunctionControl::NONE, signature)
        .expect("a function");
    b.begin_block(None).expect("a block");
    for (place, value) in [(zero, first), (one, second)] {
        let at = b.access_chain(to_word, None, target, [zero, place]);
        b.store(at.expect("a pointer"), value, None, [])
            .expect("a store");
    }
    b.ret().expect("an end");
    b.end_function().expect("an end");
    b.entry_point(spirv::ExecutionModel::GLCompute, main, "main", []);
    b.execution_mode(main, spirv::ExecutionMode::LocalSize, [1, 1, 1]);
    b.module().assemble()
}

#[test]
fn constants_reach_their_kernel_by_id() {
    let rig = Rig::new();
    let bindings = [BindingSlot {
        group: 0,
        binding: 0,
        kind: BindingKind::StorageWrite,
        least_bytes: 8,
        name: "".into(),
    }];
    let code = module();
    for (specialization, expected) in [
        (&[][..], [100, 200]),
        (&[(9, 8)], [100, 8]),
        (&[(9, 8), (3, 7)], [7, 8]),
    ] {
        let kernel = rig.device.build_kernel(KernelSpec {
            spirv: &code,
            entry: "main",
            bindings: &bindings,
            workgroup: [1, 1, 1],
            specialization,
            label: "constants",
        });
        let target = rig.buffer(8, MemoryPlacement::Device);
        rig.run(
            Lane::Compute,
            vec![Command::Dispatch {
                kernel: kernel.unwrap(),
                bindings: vec![BoundSpan {
                    group: 0,
                    binding: 0,
                    span: span(&target, 0, 8),
                }],
                groups: [1, 1, 1],
            }],
        );
        assert_eq!(words(&rig.read(&target)), expected);
    }
}
