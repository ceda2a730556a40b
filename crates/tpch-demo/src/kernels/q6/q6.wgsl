// TPC-H Q6 over one tile of 4,096 rows: 128 invocations, 8 times 4 rows each.

override first_ship_day: u32;
override end_ship_day: u32;
override least_discount_percent: u32;
override most_discount_percent: u32;
override end_quantity: u32;

@group(0) @binding(0) var<storage, read> terms: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> price_cents: array<vec4<u32>>;
// One sum a tile, its low word and its high word.
@group(0) @binding(2) var<storage, read_write> partials: array<vec2<u32>>;

const INVOCATIONS = 128u;
const STEPS = 8u;

// The workgroup's sum. It starts at zero.
var<workgroup> low: atomic<u32>;
var<workgroup> high: atomic<u32>;

fn accepted(words: vec4<u32>, discount: vec4<u32>) -> vec4<bool> {
    let ship_day = words & vec4<u32>(4095u);
    let quantity = (words >> vec4<u32>(12u)) & vec4<u32>(63u);
    return (ship_day >= vec4<u32>(first_ship_day))
        & (ship_day < vec4<u32>(end_ship_day))
        & (discount >= vec4<u32>(least_discount_percent))
        & (discount <= vec4<u32>(most_discount_percent))
        & (quantity < vec4<u32>(end_quantity));
}

@compute @workgroup_size(128)
fn main(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // All four together are at most 32 x 104,950,000: no carry.
    var revenue = vec4<u32>();
    let first = tile.x * (INVOCATIONS * STEPS) + lane;
    for (var step = 0u; step < STEPS; step++) {
        let rows = first + step * INVOCATIONS;
        let words = terms[rows];
        let discount = (words >> vec4<u32>(18u)) & vec4<u32>(15u);
        let kept = accepted(words, discount);
        if any(kept) {
            revenue += select(vec4<u32>(), price_cents[rows] * discount, kept);
        }
    }
    let sum = revenue.x + revenue.y + revenue.z + revenue.w;
    let before = atomicAdd(&low, sum);
    // Every wrap of the low word is seen by exactly one invocation.
    if before + sum < before {
        atomicAdd(&high, 1u);
    }
    workgroupBarrier();
    if lane == 0u {
        partials[tile.x] = vec2<u32>(atomicLoad(&low), atomicLoad(&high));
    }
}
