//! What a parsed module says about one entry point.

use std::collections::{BTreeMap, BTreeSet};

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{
    BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, Op, StorageClass, Word,
};
use runtime_sync::unmodelled::Arc;

use super::{KernelError, Malformed};
use crate::device::BindingKind;
use crate::kernel::BindingFault;

/// What a device is opened with.
const CAPABILITIES: [Capability; 3] = [
    Capability::Matrix,
    Capability::Shader,
    Capability::GroupNonUniform,
];

pub(super) struct Reflected {
    /// By group and number, as far as the entry point uses them.
    pub(super) bindings: BTreeMap<(u32, u32), BindingKind>,
    /// The workgroup, if the module states it in numbers.
    pub(super) workgroup: Option<[u32; 3]>,
    /// The ids of its specialization constants.
    pub(super) constants: BTreeSet<u32>,
}

pub(super) fn reflect(module: &Module, entry: &str) -> Result<Reflected, KernelError> {
    for instruction in &module.capabilities {
        if let Some(&Operand::Capability(capability)) = instruction.operands.first()
            && !CAPABILITIES.contains(&capability)
        {
            return Err(KernelError::UnsupportedCapability {
                name: format!("{capability:?}").into(),
            });
        }
    }
    let function = entry_function(module, entry)?;
    let facts = Facts::of(module);
    let used = facts.used_by(module, function)?;
    Ok(Reflected {
        bindings: facts.bindings(&used)?,
        workgroup: facts.workgroup(module, function),
        constants: facts.spec_ids(),
    })
}

/// The function of the compute entry point of this name.
fn entry_function(module: &Module, entry: &str) -> Result<Word, KernelError> {
    let mut known = Vec::new();
    for point in &module.entry_points {
        if let [
            Operand::ExecutionModel(ExecutionModel::GLCompute),
            Operand::IdRef(function),
            Operand::LiteralString(name),
            ..,
        ] = point.operands.as_slice()
        {
            if name == entry {
                return Ok(*function);
            }
            known.push(Arc::from(name.as_str()));
        }
    }
    Err(KernelError::NoEntryPoint {
        name: entry.into(),
        known,
    })
}

/// Instructions by the id they define or are about.
struct Facts<'a> {
    globals: BTreeMap<Word, &'a Instruction>,
    decorations: BTreeMap<Word, Vec<&'a [Operand]>>,
    /// Which members of a structure are `NonWritable`.
    unwritable: BTreeMap<Word, BTreeSet<u32>>,
    names: BTreeMap<Word, &'a str>,
}

impl<'a> Facts<'a> {
    fn of(module: &'a Module) -> Self {
        let globals = module.types_global_values.iter();
        let globals = globals.filter_map(|instruction| Some((instruction.result_id?, instruction)));
        let mut facts = Self {
            globals: globals.collect(),
            decorations: BTreeMap::new(),
            unwritable: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        for annotation in &module.annotations {
            match (annotation.class.opcode, annotation.operands.as_slice()) {
                (Op::Decorate, [Operand::IdRef(target), decoration @ ..]) => {
                    facts
                        .decorations
                        .entry(*target)
                        .or_default()
                        .push(decoration);
                }
                (
                    Op::MemberDecorate,
                    [
                        Operand::IdRef(target),
                        Operand::LiteralBit32(member),
                        Operand::Decoration(Decoration::NonWritable),
                    ],
                ) => {
                    facts.unwritable.entry(*target).or_default().insert(*member);
                }
                _ => {}
            }
        }
        for name in &module.debug_names {
            if let (Op::Name, [Operand::IdRef(target), Operand::LiteralString(name)]) =
                (name.class.opcode, name.operands.as_slice())
            {
                facts.names.insert(*target, name);
            }
        }
        facts
    }

    /// The ids that a function and all it calls mention.
    fn used_by(&self, module: &Module, entry: Word) -> Result<BTreeSet<Word>, KernelError> {
        let functions: BTreeMap<Word, _> = module
            .functions
            .iter()
            .filter_map(|function| Some((function.def_id()?, function)))
            .collect();
        let mut used = BTreeSet::new();
        let mut visited = BTreeSet::new();
        let mut to_visit = vec![entry];
        while let Some(id) = to_visit.pop() {
            if !visited.insert(id) {
                continue;
            }
            let function = functions.get(&id).ok_or_else(|| dangling(id))?;
            for instruction in function.all_inst_iter() {
                let ids = instruction.operands.iter().filter_map(Operand::id_ref_any);
                used.extend(ids);
                if let (Op::FunctionCall, Some(&Operand::IdRef(callee))) =
                    (instruction.class.opcode, instruction.operands.first())
                {
                    to_visit.push(callee);
                }
            }
        }
        Ok(used)
    }

    fn bindings(
        &self,
        used: &BTreeSet<Word>,
    ) -> Result<BTreeMap<(u32, u32), BindingKind>, KernelError> {
        let mut bindings = BTreeMap::new();
        for id in used {
            let Some(variable) = self.globals.get(id) else {
                continue;
            };
            let (Op::Variable, Some(&Operand::StorageClass(class))) =
                (variable.class.opcode, variable.operands.first())
            else {
                continue;
            };
            let Some(kind) = self.kind(*id, variable, class)? else {
                continue;
            };
            let (Some(group), Some(binding)) = self.place(*id) else {
                return Err(self.refused(*id, BindingFault::Group));
            };
            match bindings.insert((group, binding), kind) {
                Some(other) if other != kind => {
                    return Err(self.refused(*id, BindingFault::Taken));
                }
                _ => {}
            }
        }
        Ok(bindings)
    }

    /// What a variable is bound as; `None` for memory of the kernel's own.
    fn kind(
        &self,
        id: Word,
        variable: &Instruction,
        class: StorageClass,
    ) -> Result<Option<BindingKind>, KernelError> {
        match class {
            StorageClass::Uniform | StorageClass::StorageBuffer => {}
            StorageClass::PushConstant => return Err(self.refused(id, BindingFault::Immediate)),
            StorageClass::UniformConstant => return Err(self.refused(id, BindingFault::NoBuffer)),
            StorageClass::Input | StorageClass::Private | StorageClass::Workgroup => {
                return Ok(None);
            }
            _ => return Err(self.refused(id, BindingFault::NoBuffer)),
        }
        let pointer = variable.result_type.unwrap_or(0);
        let Some([Operand::StorageClass(_), Operand::IdRef(block)]) = self.operands(pointer) else {
            return Err(dangling(pointer));
        };
        let structure = self.globals.get(block).ok_or_else(|| dangling(*block))?;
        let members = match structure.class.opcode {
            Op::TypeStruct => structure.operands.len(),
            Op::TypeArray | Op::TypeRuntimeArray => {
                return Err(self.refused(id, BindingFault::Array));
            }
            _ => return Err(self.refused(id, BindingFault::NoBuffer)),
        };
        let is_storage = class == StorageClass::StorageBuffer
            || self.is_decorated(*block, Decoration::BufferBlock);
        if !is_storage {
            return Ok(Some(BindingKind::Uniform));
        }
        let unwritable = self.unwritable.get(block).map_or(0, BTreeSet::len);
        let reads = self.is_decorated(id, Decoration::NonWritable)
            || (members > 0 && unwritable == members);
        Ok(Some(if reads {
            BindingKind::StorageRead
        } else {
            BindingKind::StorageWrite
        }))
    }

    /// The workgroup in numbers. The decorated constant goes before the mode.
    fn workgroup(&self, module: &Module, function: Word) -> Option<[u32; 3]> {
        let built_in = [
            Operand::Decoration(Decoration::BuiltIn),
            Operand::BuiltIn(BuiltIn::WorkgroupSize),
        ];
        let constant = self
            .decorations
            .iter()
            .find(|(_, decorations)| decorations.contains(&built_in.as_slice()));
        if let Some((constant, _)) = constant {
            return self.vector(*constant);
        }
        module
            .execution_modes
            .iter()
            .find_map(|mode| match mode.operands.as_slice() {
                [
                    Operand::IdRef(target),
                    Operand::ExecutionMode(ExecutionMode::LocalSize),
                    Operand::LiteralBit32(x),
                    Operand::LiteralBit32(y),
                    Operand::LiteralBit32(z),
                ] if *target == function => Some([*x, *y, *z]),
                _ => None,
            })
    }

    /// A vector of three constants that no specialization can change.
    fn vector(&self, id: Word) -> Option<[u32; 3]> {
        let composite = self.globals.get(&id)?;
        let (Op::ConstantComposite, [Operand::IdRef(x), Operand::IdRef(y), Operand::IdRef(z)]) =
            (composite.class.opcode, composite.operands.as_slice())
        else {
            return None;
        };
        let number = |id: &Word| {
            let constant = self.globals.get(id)?;
            match (constant.class.opcode, constant.operands.as_slice()) {
                (Op::Constant, [Operand::LiteralBit32(word)]) => Some(*word),
                _ => None,
            }
        };
        Some([number(x)?, number(y)?, number(z)?])
    }

    fn spec_ids(&self) -> BTreeSet<u32> {
        let decorations = self.decorations.values().flatten();
        decorations
            .filter_map(|decoration| match decoration {
                [
                    Operand::Decoration(Decoration::SpecId),
                    Operand::LiteralBit32(id),
                ] => Some(*id),
                _ => None,
            })
            .collect()
    }

    fn place(&self, id: Word) -> (Option<u32>, Option<u32>) {
        let number = |wanted: Decoration| {
            self.decorations
                .get(&id)?
                .iter()
                .find_map(|decoration| match decoration {
                    [Operand::Decoration(found), Operand::LiteralBit32(number)]
                        if *found == wanted =>
                    {
                        Some(*number)
                    }
                    _ => None,
                })
        };
        (
            number(Decoration::DescriptorSet),
            number(Decoration::Binding),
        )
    }

    fn is_decorated(&self, id: Word, wanted: Decoration) -> bool {
        self.decorations
            .get(&id)
            .is_some_and(|all| all.contains(&[Operand::Decoration(wanted)].as_slice()))
    }

    fn operands(&self, id: Word) -> Option<&'a [Operand]> {
        Some(self.globals.get(&id)?.operands.as_slice())
    }

    fn refused(&self, id: Word, fault: BindingFault) -> KernelError {
        let (group, binding) = self.place(id);
        KernelError::UnsupportedBinding {
            name: self.names.get(&id).copied().unwrap_or_default().into(),
            group: group.unwrap_or(0),
            binding: binding.unwrap_or(0),
            fault,
        }
    }
}

fn dangling(id: Word) -> KernelError {
    KernelError::Malformed(Malformed::Reference { id })
}
