//! A compute shader under construction: types, constants, the argument block, blocks of code. Knows no program.

use std::collections::{HashMap, HashSet};

use rspirv::binary::Assemble;
use rspirv::dr::{self, Builder, Operand};
use rspirv::spirv::{
    AddressingModel, BuiltIn, Capability, Decoration, ExecutionMode, ExecutionModel, FunctionControl, GlslStd450Op, MemoryAccess,
    MemoryModel, Op, SelectionControl, StorageClass, Word,
};

use super::{Built, Layout, PUSH_BYTES};
use crate::expr::graph::Ty;

pub(super) struct Module {
    pub b: Builder,
    glsl: Word,
    pub types: Types,
    constants: HashMap<(Ty, u64), Word>,
    capabilities: HashSet<u32>,
    arguments: Arguments,
    words: HashMap<u32, Word>,
    tables: HashMap<u16, Word>,
    interface: Vec<Word>,
    main: Word,
    workgroup_size: Word,
    /// The block that is being written; phis name it.
    pub current: Word,
}

/// Where pointers and words of the arguments are.
enum Arguments {
    /// Members of a block, given by a variable or a physical pointer.
    Block { base: Word, class: StorageClass, num_pointers: u32 },
    /// Elements of an array of words, a member of the push constants, or of what their one member points to (whose type is
    /// `pointer`). A pointer is two.
    Words { push: Word, pointer: Option<Word>, base: Word, member: u32, num_pointers: u32 },
}

#[derive(Default)]
pub(super) struct Types {
    pub void: Word,
    pub bool: Word,
    pub u32: Word,
    pub f32: Word,
    pub uvec2: Word,
    pub uvec3: Word,
    pub uvec4: Word,
    pub vec2: Word,
    pub u32_pair: Word,
    /// Physical pointers to a block `{ T elements[]; }`, by T.
    arrays: HashMap<Word, Word>,
}

impl Types {
    fn new(b: &mut Builder) -> Self {
        let mut t = Types { void: b.type_void(), bool: b.type_bool(), ..Types::default() };
        t.u32 = b.type_int(32, 0);
        t.f32 = b.type_float(32, None);
        t.uvec2 = b.type_vector(t.u32, 2);
        t.uvec3 = b.type_vector(t.u32, 3);
        t.uvec4 = b.type_vector(t.u32, 4);
        t.vec2 = b.type_vector(t.f32, 2);
        t.u32_pair = b.type_struct([t.u32, t.u32]);
        t
    }
}

impl Module {
    pub(super) fn new(layout: &Layout) -> Built<Self> {
        let mut b = Builder::new();
        b.set_version(1, 5);
        b.capability(Capability::Shader);
        b.capability(Capability::PhysicalStorageBufferAddresses);
        let glsl = b.ext_inst_import("GLSL.std.450");
        b.memory_model(AddressingModel::PhysicalStorageBuffer64, MemoryModel::GLSL450);
        let mut t = Types::new(&mut b);
        let workgroup_size = Self::workgroup_size(&mut b, &t);
        let (block_type, class) = Self::block_type(&mut b, &mut t, layout);
        let push = b.type_pointer(None, StorageClass::PushConstant, block_type.outer);
        let variable = b.variable(push, None, StorageClass::PushConstant, None);
        let mut m = Self {
            b,
            glsl,
            types: t,
            constants: HashMap::new(),
            capabilities: HashSet::new(),
            arguments: Arguments::Block { base: variable, class, num_pointers: layout.num_pointers },
            words: HashMap::new(),
            tables: HashMap::new(),
            interface: vec![variable],
            main: 0,
            workgroup_size,
            current: 0,
        };
        let function = m.b.type_function(m.types.void, []);
        m.main = m.b.begin_function(m.types.void, None, FunctionControl::NONE, function)?;
        m.current = m.b.begin_block(None)?;
        if let Some(inner) = block_type.inner {
            // The push constants are the address of the block.
            let pointer = m.load_member(variable, StorageClass::PushConstant, 0, inner, 8)?;
            m.arguments = Arguments::Block { base: pointer, class, num_pointers: layout.num_pointers };
        }
        m.load_words(layout)?;
        Ok(m)
    }

    /// Reads the words before the code branches, so that every use is dominated.
    pub(super) fn load_words(&mut self, layout: &Layout) -> Built<()> {
        self.words.clear();
        for w in 0..layout.num_words {
            let loaded = self.load_word(w)?;
            self.words.insert(w, loaded);
        }
        Ok(())
    }

    /// A finished module whose functions are to be given other bodies; the arguments, pointers first, are words: the last
    /// member of its own. `None` if it has none.
    pub(super) fn with_words(module: dr::Module, num_pointers: u32) -> Option<Self> {
        let capabilities = module.capabilities.iter().filter_map(|i| match i.operands[..] {
            [Operand::Capability(c)] => Some(c as u32),
            _ => None,
        });
        let capabilities = capabilities.collect();
        let glsl = module.ext_inst_imports.first().and_then(|i| i.result_id);
        let globals = &module.types_global_values;
        let defined = |id: Word| globals.iter().find(|i| i.result_id == Some(id));
        let pointee = |pointer: &dr::Instruction| defined(pointer.operands.get(1)?.id_ref_any()?);
        let is_push = |i: &&dr::Instruction| {
            i.class.opcode == Op::Variable && i.operands.first() == Some(&Operand::StorageClass(StorageClass::PushConstant))
        };
        let push = globals.iter().find(is_push)?;
        let mut block = pointee(defined(push.result_type?)?)?;
        let only = block.operands.first().filter(|_| block.operands.len() == 1).and_then(|m| defined(m.id_ref_any()?));
        let pointer = only.filter(|i| i.class.opcode == Op::TypePointer);
        if let Some(pointer) = pointer {
            block = pointee(pointer)?;
        }
        let (push, member) = (push.result_id?, (block.operands.len() as u32).checked_sub(1)?);
        let pointer = pointer.and_then(|p| p.result_id);
        let main = module.entry_points.first()?.operands.get(1)?.id_ref_any()?;
        let mut b = Builder::new_from_module(module);
        let glsl = glsl.unwrap_or_else(|| b.ext_inst_import("GLSL.std.450"));
        let types = Types::new(&mut b);
        Some(Self {
            b,
            glsl,
            types,
            constants: HashMap::new(),
            capabilities,
            arguments: Arguments::Words { push, pointer, base: push, member, num_pointers },
            words: HashMap::new(),
            tables: HashMap::new(),
            interface: Vec::new(),
            main,
            workgroup_size: 0,
            current: 0,
        })
    }

    /// Empties a function and begins its body anew.
    pub(super) fn begin_body(&mut self, function: usize) -> Built<()> {
        if let Some(f) = self.b.module_mut().functions.get_mut(function) {
            f.blocks.clear();
        }
        self.b.select_function(Some(function))?;
        self.current = self.b.begin_block(None)?;
        if let Arguments::Words { push, pointer: Some(pointer), member, num_pointers, .. } = self.arguments {
            let base = self.load_member(push, StorageClass::PushConstant, 0, pointer, 8)?;
            self.arguments = Arguments::Words { push, pointer: Some(pointer), base, member, num_pointers };
        }
        Ok(())
    }

    /// Ends the body with the function's result.
    pub(super) fn end_body(&mut self, result: Option<Word>) -> Built<()> {
        match result {
            Some(result) => self.b.ret_value(result)?,
            None => self.b.ret()?,
        }
        self.b.select_function(None)
    }

    /// The words of a module that was finished before.
    pub(super) fn refinish(mut self) -> Vec<u32> {
        let interface = std::mem::take(&mut self.interface).into_iter().map(Operand::IdRef);
        let mut module = self.b.module();
        if let Some(entry) = module.entry_points.first_mut() {
            entry.operands.extend(interface);
        }
        module.assemble()
    }

    fn workgroup_size(b: &mut Builder, t: &Types) -> Word {
        let sizes: Vec<Word> = (0..3)
            .map(|i| {
                let c = b.spec_constant_bit32(t.u32, if i == 0 { 64 } else { 1 });
                b.decorate(c, Decoration::SpecId, [Operand::LiteralBit32(i)]);
                c
            })
            .collect();
        let size = b.spec_constant_composite(t.uvec3, sizes.iter().copied());
        b.decorate(size, Decoration::BuiltIn, [Operand::BuiltIn(BuiltIn::WorkgroupSize)]);
        sizes[0]
    }

    fn block_type(b: &mut Builder, t: &mut Types, layout: &Layout) -> (Block, StorageClass) {
        let word = t.u32;
        let pointer = Self::array_of(b, t, word, 4);
        let num_pointers = layout.num_pointers;
        let members = (0..num_pointers).map(|_| pointer).chain((0..layout.num_words).map(|_| word));
        let members: Vec<Word> = members.collect();
        let block = b.type_struct(members.iter().copied());
        b.decorate(block, Decoration::Block, []);
        for (i, _) in members.iter().enumerate() {
            let i = i as u32;
            let offset = if i < num_pointers { 8 * i } else { 4 * (i + num_pointers) };
            b.member_decorate(block, i, Decoration::Offset, [Operand::LiteralBit32(offset)]);
        }
        if layout.bytes() <= PUSH_BYTES {
            return (Block { outer: block, inner: None }, StorageClass::PushConstant);
        }
        let address = b.type_pointer(None, StorageClass::PhysicalStorageBuffer, block);
        let outer = b.type_struct([address]);
        b.decorate(outer, Decoration::Block, []);
        b.member_decorate(outer, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        (Block { outer, inner: Some(address) }, StorageClass::PhysicalStorageBuffer)
    }

    fn array_of(b: &mut Builder, t: &mut Types, element: Word, stride: u32) -> Word {
        if let Some(&p) = t.arrays.get(&element) {
            return p;
        }
        // Of its own: another that is the same has its decorations already.
        let (array, block) = (b.id(), b.id());
        b.type_runtime_array_id(Some(array), element);
        b.decorate(array, Decoration::ArrayStride, [Operand::LiteralBit32(stride)]);
        b.type_struct_id(Some(block), [array]);
        b.decorate(block, Decoration::Block, []);
        b.member_decorate(block, 0, Decoration::Offset, [Operand::LiteralBit32(0)]);
        // Declared ahead, as glslang does: otherwise spirv-val takes a pointer to bytes for a use of bytes.
        let p = b.id();
        b.type_forward_pointer(p, StorageClass::PhysicalStorageBuffer);
        b.type_pointer(Some(p), StorageClass::PhysicalStorageBuffer, block);
        t.arrays.insert(element, p);
        p
    }

    fn load_member(&mut self, base: Word, class: StorageClass, member: u32, ty: Word, align: u32) -> Built<Word> {
        let pointer_type = self.b.type_pointer(None, class, ty);
        let index = self.u32(member);
        let pointer = self.b.access_chain(pointer_type, None, base, [index])?;
        if class == StorageClass::PushConstant {
            return self.b.load(ty, None, pointer, None, []);
        }
        self.b.load(ty, None, pointer, Some(MemoryAccess::ALIGNED), [Operand::LiteralBit32(align)])
    }

    /// An element of the array of words.
    fn load_element(&mut self, base: Word, far: bool, member: u32, element: u32) -> Built<Word> {
        let class = if far { StorageClass::PhysicalStorageBuffer } else { StorageClass::PushConstant };
        let ty = self.types.u32;
        let pointer_type = self.b.type_pointer(None, class, ty);
        let indices = [self.u32(member), self.u32(element)];
        let pointer = self.b.access_chain(pointer_type, None, base, indices)?;
        match far {
            true => self.b.load(ty, None, pointer, Some(MemoryAccess::ALIGNED), [Operand::LiteralBit32(4)]),
            false => self.b.load(ty, None, pointer, None, []),
        }
    }

    fn load_word(&mut self, word: u32) -> Built<Word> {
        let ty = self.types.u32;
        match self.arguments {
            Arguments::Block { base, class, num_pointers } => self.load_member(base, class, num_pointers + word, ty, 4),
            Arguments::Words { pointer, base, member, num_pointers, .. } => {
                self.load_element(base, pointer.is_some(), member, 2 * num_pointers + word)
            }
        }
    }

    /// Pointer `number`, as one of type `wanted`; `declared` is the type of the block's members.
    fn load_pointer(&mut self, number: u32, declared: Word, wanted: Word) -> Built<Word> {
        match self.arguments {
            Arguments::Block { base, class, .. } => {
                let pointer = self.load_member(base, class, number, declared, 8)?;
                if wanted == declared { Ok(pointer) } else { self.b.bitcast(wanted, None, pointer) }
            }
            Arguments::Words { pointer, base, member, .. } => {
                let low = self.load_element(base, pointer.is_some(), member, 2 * number)?;
                let high = self.load_element(base, pointer.is_some(), member, 2 * number + 1)?;
                let both = self.b.composite_construct(self.types.uvec2, None, [low, high])?;
                self.b.bitcast(wanted, None, both)
            }
        }
    }

    /// A word of the argument block.
    pub(super) fn word(&mut self, word: u32) -> Built<Word> {
        match self.words.get(&word) {
            Some(&w) => Ok(w),
            None => self.load_word(word),
        }
    }

    /// The address of element `index` of the array of `element`s behind pointer `number` of the argument block.
    pub(super) fn place(&mut self, number: u32, element: Word, stride: u32, index: Word) -> Built<Word> {
        let word = self.types.u32;
        let declared = Self::array_of(&mut self.b, &mut self.types, word, 4);
        let wanted = Self::array_of(&mut self.b, &mut self.types, element, stride);
        let base = self.load_pointer(number, declared, wanted)?;
        let pointer_type = self.b.type_pointer(None, StorageClass::PhysicalStorageBuffer, element);
        let zero = self.u32(0);
        self.b.access_chain(pointer_type, None, base, [zero, index])
    }

    /// Declares a capability.
    pub(super) fn need(&mut self, c: Capability) {
        if self.capabilities.insert(c as u32) {
            self.b.capability(c);
        }
    }

    /// The SPIR-V type of values of `ty`. Integers are unsigned types throughout; the operations carry the sign.
    pub(super) fn ty(&mut self, ty: Ty) -> Word {
        match ty {
            Ty::Bool => self.types.bool,
            Ty::I32 | Ty::U32 => self.types.u32,
            Ty::F32 => self.types.f32,
            Ty::I64 | Ty::U64 => {
                self.need(Capability::Int64);
                self.b.type_int(64, 0)
            }
            Ty::F64 => {
                self.need(Capability::Float64);
                self.b.type_float(64, None)
            }
        }
    }

    /// A constant by its bits.
    pub(super) fn constant(&mut self, ty: Ty, bits: u64) -> Word {
        let ty = match ty {
            Ty::I32 => Ty::U32,
            Ty::I64 => Ty::U64,
            other => other,
        };
        if let Some(&c) = self.constants.get(&(ty, bits)) {
            return c;
        }
        let t = self.ty(ty);
        let c = match ty {
            Ty::Bool if bits == 0 => self.b.constant_false(t),
            Ty::Bool => self.b.constant_true(t),
            _ if ty.bits() == 64 => self.b.constant_bit64(t, bits),
            _ => self.b.constant_bit32(t, bits as u32),
        };
        self.constants.insert((ty, bits), c);
        c
    }

    pub(super) fn u32(&mut self, v: u32) -> Word {
        self.constant(Ty::U32, u64::from(v))
    }

    /// An instruction of GLSL.std.450.
    pub(super) fn glsl(&mut self, ty: Word, op: GlslStd450Op, operands: &[Word]) -> Built<Word> {
        let operands: Vec<Operand> = operands.iter().map(|&o| Operand::IdRef(o)).collect();
        self.b.ext_inst(ty, None, self.glsl, op as u32, operands)
    }

    /// The same bits in another type; the same value where the types are one.
    pub(super) fn bitcast(&mut self, from: Word, to: Word, v: Word) -> Built<Word> {
        if from == to { Ok(v) } else { self.b.bitcast(to, None, v) }
    }

    /// The number of this thread among all of the launch: the workgroups' three axes fold into one.
    pub(super) fn thread(&mut self) -> Built<Word> {
        let group = self.built_in(BuiltIn::WorkgroupId)?;
        let groups = self.built_in(BuiltIn::NumWorkgroups)?;
        let local = self.built_in(BuiltIn::LocalInvocationId)?;
        let t = self.types.u32;
        let get = |m: &mut Self, v, i| m.b.composite_extract(t, None, v, [i]);
        let (x, y, z) = (get(self, group, 0)?, get(self, group, 1)?, get(self, group, 2)?);
        let (nx, ny) = (get(self, groups, 0)?, get(self, groups, 1)?);
        let lane = get(self, local, 0)?;
        let zy = self.mul(z, ny)?;
        let row = self.add(zy, y)?;
        let rows = self.mul(row, nx)?;
        let linear = self.add(rows, x)?;
        let first = self.mul(linear, self.workgroup_size)?;
        self.add(first, lane)
    }

    fn built_in(&mut self, which: BuiltIn) -> Built<Word> {
        let t = self.types.uvec3;
        let v = self.global(StorageClass::Input, t, None)?;
        self.b.decorate(v, Decoration::BuiltIn, [Operand::BuiltIn(which)]);
        self.b.load(t, None, v, None, [])
    }

    fn global(&mut self, class: StorageClass, ty: Word, initial: Option<Word>) -> Built<Word> {
        let pointer = self.b.type_pointer(None, class, ty);
        // Inside a function, a variable would be inserted there.
        let selected = (self.b.selected_function(), self.b.selected_block());
        self.b.select_block(None)?;
        self.b.select_function(None)?;
        let v = self.b.variable(pointer, None, class, initial);
        self.b.select_function(selected.0)?;
        self.b.select_block(selected.1)?;
        self.interface.push(v);
        Ok(v)
    }

    /// An element of a constant table.
    pub(super) fn lookup(&mut self, number: u16, elements: &[u32], index: Word) -> Built<Word> {
        let u32 = self.types.u32;
        let variable = match self.tables.get(&number) {
            Some(&v) => v,
            None => {
                let length = self.u32(elements.len() as u32);
                let array = self.b.type_array(u32, length);
                let words: Vec<Word> = elements.iter().map(|&e| self.u32(e)).collect();
                let constant = self.b.constant_composite(array, words);
                let v = self.global(StorageClass::Private, array, Some(constant))?;
                self.tables.insert(number, v);
                v
            }
        };
        let pointer = self.b.type_pointer(None, StorageClass::Private, u32);
        let place = self.b.access_chain(pointer, None, variable, [index])?;
        self.b.load(u32, None, place, None, [])
    }

    pub(super) fn add(&mut self, a: Word, b: Word) -> Built<Word> {
        self.b.i_add(self.types.u32, None, a, b)
    }

    pub(super) fn sub(&mut self, a: Word, b: Word) -> Built<Word> {
        self.b.i_sub(self.types.u32, None, a, b)
    }

    pub(super) fn mul(&mut self, a: Word, b: Word) -> Built<Word> {
        self.b.i_mul(self.types.u32, None, a, b)
    }

    pub(super) fn mul_hi(&mut self, a: Word, b: Word) -> Built<Word> {
        let both = self.b.u_mul_extended(self.types.u32_pair, None, a, b)?;
        self.b.composite_extract(self.types.u32, None, both, [1])
    }

    pub(super) fn shift_right(&mut self, a: Word, by: Word) -> Built<Word> {
        self.b.shift_right_logical(self.types.u32, None, a, by)
    }

    pub(super) fn less(&mut self, a: Word, b: Word) -> Built<Word> {
        self.b.u_less_than(self.types.bool, None, a, b)
    }

    pub(super) fn equal(&mut self, a: Word, b: Word) -> Built<Word> {
        self.b.i_equal(self.types.bool, None, a, b)
    }

    /// Starts a new block.
    pub(super) fn begin(&mut self, label: Word) -> Built<()> {
        self.current = self.b.begin_block(Some(label))?;
        Ok(())
    }

    /// Opens `if (condition) {`; what it returns closes it.
    pub(super) fn open_if(&mut self, condition: Word) -> Built<Word> {
        let (then, merge) = (self.b.id(), self.b.id());
        self.b.selection_merge(merge, SelectionControl::NONE)?;
        self.b.branch_conditional(condition, then, merge, [])?;
        self.begin(then)?;
        Ok(merge)
    }

    /// Closes an `if`.
    pub(super) fn close_if(&mut self, merge: Word) -> Built<()> {
        self.b.branch(merge)?;
        self.begin(merge)
    }

    /// The words of the finished module.
    pub(super) fn finish(mut self) -> Built<Vec<u32>> {
        self.b.ret()?;
        self.b.end_function()?;
        self.b.entry_point(ExecutionModel::GLCompute, self.main, "main", self.interface.clone());
        self.b.execution_mode(self.main, ExecutionMode::LocalSize, [64, 1, 1]);
        Ok(self.b.module().assemble())
    }
}

struct Block {
    /// The push-constant block.
    outer: Word,
    /// The type of its one member, where that is the address of the real block.
    inner: Option<Word>,
}
