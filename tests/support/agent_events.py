"""A few hand-written agent sessions: two tasks in one project, one in another. Nothing here is recorded."""

from __future__ import annotations

from tests.support.guessed_parts import parts_of_texts

from context_graph.model import EventKind, HookEvent

__all__ = ["LABELS", "SHADER", "TARIFF", "prompt", "session", "tool"]

Step = tuple[str, str, str]
"""(tool, input text, output text); an output that begins with "!" is a failure's error."""

TARIFF_PROMPT = (
    "Parcels above 30 kg get the wrong tariff: ParcelTariff.quote() ignores the heavy surcharge "
    "when the zone is 'island'. Fix harbor/tariff/parcel_tariff.py and cover it in "
    "tests/tariff/test_parcel_tariff.py."
)
TARIFF_STEPS: tuple[Step, ...] = (
    (
        "Read",
        "harbor/tariff/parcel_tariff.py",
        "class ParcelTariff:\n    heavy_surcharge = Decimal('4.50')\n"
        "    def quote(self, parcel, zone):\n        base = self.zone_table[zone].base_price\n"
        "        if parcel.weight_kg > HEAVY_KG and zone != 'island':\n"
        "            base += self.heavy_surcharge\n        return Quote(base, zone)",
    ),
    (
        "Grep",
        "heavy_surcharge harbor",
        "harbor/tariff/parcel_tariff.py:2: heavy_surcharge = Decimal('4.50')\n"
        "harbor/tariff/parcel_tariff.py:6: base += self.heavy_surcharge\n"
        "harbor/tariff/zone_table.py:19: surcharge",
    ),
    (
        "Read",
        "harbor/tariff/zone_table.py",
        "from harbor.tariff.parcel_tariff import Quote\nclass ZoneTable:\n"
        "    island = ZonePrice(base_price=Decimal('9.20'), surcharge=True)\n"
        "    def __getitem__(self, zone): ...",
    ),
    (
        "Bash",
        "pytest tests/tariff -q",
        "tests/tariff/test_parcel_tariff.py ....F\n"
        "FAILED test_island_heavy_quote - assert Quote(base=9.20) == Quote(base=13.70)\n"
        "parcel.weight_kg=31 zone=island heavy_surcharge missing",
    ),
    (
        "Edit",
        "harbor/tariff/parcel_tariff.py if parcel.weight_kg > HEAVY_KG and zone != 'island': if "
        "parcel.weight_kg > HEAVY_KG:",
        "harbor/tariff/parcel_tariff.py\n"
        "-        if parcel.weight_kg > HEAVY_KG and zone != 'island':\n"
        "+        if parcel.weight_kg > HEAVY_KG:\n             base += self.heavy_surcharge",
    ),
    (
        "Bash",
        "pytest tests/tariff/test_parcel_tariff.py -q",
        "!Exit code 1\nNameError: name 'HEAVY_KG' is not defined\n"
        "harbor/tariff/parcel_tariff.py:5 in quote\n    if parcel.weight_kg > HEAVY_KG:",
    ),
    (
        "Edit",
        "harbor/tariff/parcel_tariff.py from decimal import Decimal HEAVY_KG = 30 for ParcelTariff.quote",
        "harbor/tariff/parcel_tariff.py\n"
        "+HEAVY_KG = 30  # kg above which heavy_surcharge is due in every zone",
    ),
    (
        "Read",
        "tests/tariff/test_parcel_tariff.py",
        "def test_island_heavy_quote():\n    parcel = Parcel(weight_kg=31)\n"
        "    assert ParcelTariff().quote(parcel, 'island') == Quote(Decimal('13.70'), 'island')",
    ),
    (
        "Write",
        "tests/tariff/test_parcel_tariff.py def test_heavy_surcharge_in_every_zone(zone): parcel "
        "= Parcel(weight_kg=31) assert ParcelTariff().quote(parcel, zone).base > "
        "ParcelTariff().zone_table[zone].base_price",
        "tests/tariff/test_parcel_tariff.py updated",
    ),
    (
        "Bash",
        "pytest tests/tariff -q",
        "tests/tariff/test_parcel_tariff.py ........ [100%]\n"
        "8 passed: ParcelTariff.quote island heavy_surcharge zone_table",
    ),
    (
        "Grep",
        "ParcelTariff harbor",
        "harbor/tariff/parcel_tariff.py:1:class ParcelTariff:\n"
        "harbor/checkout/basket.py:44: tariff = ParcelTariff()\n"
        "harbor/checkout/basket.py:45: quote = tariff.quote(parcel, address.zone)",
    ),
    (
        "Bash",
        "git diff harbor/tariff",
        "diff harbor/tariff/parcel_tariff.py\n"
        "-if parcel.weight_kg > HEAVY_KG and zone != 'island':\n"
        "+if parcel.weight_kg > HEAVY_KG:\n heavy_surcharge ParcelTariff quote zone",
    ),
)

LABELS_PROMPT = (
    "LabelPrinter drops the barcode on A6 stickers since the PDF canvas was replaced. See "
    "harbor/labels/printer.py; the barcode must keep a quiet zone of 4 mm."
)
LABELS_STEPS: tuple[Step, ...] = (
    (
        "Read",
        "harbor/labels/printer.py",
        "class LabelPrinter:\n    def draw_barcode(self, canvas, consignment):\n"
        "        code = Code128(consignment.tracking_number)\n"
        "        canvas.place(code, quiet_zone_mm=0)",
    ),
    (
        "Grep",
        "quiet_zone_mm",
        "harbor/labels/printer.py:4: canvas.place(code, quiet_zone_mm=0)\n"
        "harbor/labels/canvas.py:31: def place(self, drawing, quiet_zone_mm):",
    ),
    (
        "Read",
        "harbor/labels/canvas.py",
        "class StickerCanvas:\n    page_size = A6\n"
        "    def place(self, drawing, quiet_zone_mm):\n"
        "        if drawing.width_mm + 2 * quiet_zone_mm > self.page_size.width: return",
    ),
    (
        "Edit",
        "harbor/labels/printer.py canvas.place(code, quiet_zone_mm=4)",
        "harbor/labels/printer.py\n-canvas.place(code, quiet_zone_mm=0)\n"
        "+canvas.place(code, quiet_zone_mm=4)\n draw_barcode Code128",
    ),
    (
        "Bash",
        "pytest tests/labels -q",
        "!Exit code 1\n"
        "FAILED tests/labels/test_printer.py::test_barcode_on_a6 - barcode missing on "
        "StickerCanvas page_size A6 tracking_number",
    ),
    (
        "Edit",
        "harbor/labels/canvas.py drawing.scale_to(self.page_size.width - 2 * quiet_zone_mm)",
        "harbor/labels/canvas.py\n"
        "+drawing = drawing.scale_to(self.page_size.width - 2 * quiet_zone_mm)\n"
        " StickerCanvas place barcode",
    ),
    (
        "Bash",
        "pytest tests/labels -q",
        "tests/labels/test_printer.py ...... 6 passed LabelPrinter StickerCanvas Code128",
    ),
    (
        "Bash",
        "git diff harbor/labels",
        "harbor/labels/canvas.py harbor/labels/printer.py quiet_zone_mm scale_to barcode",
    ),
)

SHADER_PROMPT = (
    "The bloom pass of the lumen renderer flickers on integrated GPUs. Look at "
    "crates/render/src/bloom.rs and the shader bloom_blur.wgsl: the mip chain is sampled one "
    "level too deep."
)
SHADER_STEPS: tuple[Step, ...] = (
    (
        "Read",
        "crates/render/src/bloom.rs",
        "pub struct BloomPass { mip_chain: Vec<TextureView>, sampler: Sampler }\n"
        "impl BloomPass {\n    pub fn encode(&self, encoder: &mut CommandEncoder) {\n"
        "        for level in 0..=self.mip_chain.len() { self.blur_level(encoder, level); }\n"
        "    }",
    ),
    (
        "Read",
        "crates/render/shaders/bloom_blur.wgsl",
        "@fragment fn blur(input: VertexOutput) -> @location(0) vec4<f32> {\n"
        "    let texel = 1.0 / vec2<f32>(textureDimensions(source, level));\n"
        "    return textureSampleLevel(source, smp, uv);",
    ),
    (
        "Bash",
        "cargo test -p render bloom",
        "!error[E0308]: mismatched types\n --> crates/render/src/bloom.rs:27:18\n"
        " expected `u32`, found `usize` mip_chain.len() BloomPass::encode",
    ),
    (
        "Edit",
        "crates/render/src/bloom.rs for level in 0..self.mip_chain.len() as u32 blur_level",
        "crates/render/src/bloom.rs\n-for level in 0..=self.mip_chain.len()\n"
        "+for level in 0..self.mip_chain.len() as u32\n BloomPass encoder",
    ),
    (
        "Bash",
        "cargo clippy -p render",
        "warning: unused variable: `sampler` crates/render/src/bloom.rs:12 BloomPass TextureView "
        "CommandEncoder wgpu",
    ),
    (
        "Bash",
        "cargo run --example bloom_scene",
        "lumen: adapter Intel UHD, wgpu backend Vulkan\n"
        "frame 120 bloom mip_chain 6 levels, textureSampleLevel ok",
    ),
    (
        "Grep",
        "mip_chain crates/render",
        "crates/render/src/bloom.rs:3: mip_chain: Vec<TextureView>\n"
        "crates/render/src/exposure.rs:17: mip_chain.last()\n"
        "crates/render/src/bloom.rs:27: self.mip_chain.len()",
    ),
    (
        "Edit",
        "crates/render/shaders/bloom_blur.wgsl textureSampleLevel(source, smp, uv, f32(level))",
        "crates/render/shaders/bloom_blur.wgsl\n"
        "+    return textureSampleLevel(source, smp, uv, f32(level));\n vec4<f32> VertexOutput",
    ),
    (
        "Bash",
        "cargo test -p render",
        "test bloom::tests::encodes_each_level ... ok\ntest exposure::tests::last_mip ... ok\n"
        "BloomPass TextureView wgpu",
    ),
    (
        "Bash",
        "git diff crates/render",
        "crates/render/src/bloom.rs crates/render/shaders/bloom_blur.wgsl mip_chain level blur",
    ),
)


def prompt(text: str, *, at_ms: int = 0, session_id: str = "s") -> HookEvent:
    """A prompt of the user."""
    return HookEvent(EventKind.PROMPT_SUBMIT, session_id, f"prompt-{at_ms}", at_ms=at_ms, input_text=text)


def tool(step: Step, *, at_ms: int = 0, session_id: str = "s", kind: EventKind | None = None) -> HookEvent:
    """The result of a tool call."""
    name, given, output = step
    failed = output.startswith("!")
    made = HookEvent(
        kind or (EventKind.POST_TOOL_FAILURE if failed else EventKind.POST_TOOL),
        session_id,
        f"tool-{at_ms}",
        at_ms=at_ms,
        tool_name=name,
        tool_use_id=f"toolu_{at_ms}",
        input_text=given,
        output_text=output.removeprefix("!"),
        success=not failed,
    )
    made.parts = parts_of_texts(made)
    return made


def session(text: str, steps: tuple[Step, ...]) -> list[HookEvent]:
    """A prompt and its tool calls, ten seconds apart."""
    calls = [tool(step, at_ms=10_000 * (i + 1)) for i, step in enumerate(steps)]
    return [prompt(text), *calls]


TARIFF = session(TARIFF_PROMPT, TARIFF_STEPS)
LABELS = session(LABELS_PROMPT, LABELS_STEPS)
SHADER = session(SHADER_PROMPT, SHADER_STEPS)
