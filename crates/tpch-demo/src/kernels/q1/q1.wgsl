// TPC-H Q1 over one tile of 4,096 rows: 64 invocations, 64 rows each.

override last_ship_day: u32;

@group(0) @binding(0) var<storage, read> terms: array<u32>;
@group(0) @binding(1) var<storage, read> price_cents: array<u32>;
// 32 sums a tile, group by group, each its low word and its high word.
@group(0) @binding(2) var<storage, read_write> partials: array<vec2<u32>>;

const INVOCATIONS = 64u;
const ROWS = 64u;
const SUMS_PER_GROUP = 8u;
const SUMS = 32u;

// What one invocation sums for one group, every member without carry.
struct Sums {
    // From the lowest bit: 7 bits of count, 13 of quantity, 12 of discount.
    tally: u32,
    base: u32,
    disc_low: u32,
    disc_high: u32,
    charge_low: u32,
    charge_high: u32,
}

// The workgroup's sums. They start at zero.
var<workgroup> low: array<atomic<u32>, SUMS>;
var<workgroup> high: array<atomic<u32>, SUMS>;

fn add(sums: Sums, row: Sums, kept: bool) -> Sums {
    let mask = select(0u, 0xffffffffu, kept);
    return Sums(
        sums.tally + (row.tally & mask),
        sums.base + (row.base & mask),
        sums.disc_low + (row.disc_low & mask),
        sums.disc_high + (row.disc_high & mask),
        sums.charge_low + (row.charge_low & mask),
        sums.charge_high + (row.charge_high & mask),
    );
}

// Every wrap of a low word is seen by exactly one invocation, so the two words
// are exact whatever the order.
fn share(sum: u32, value: u32) {
    let before = atomicAdd(&low[sum], value);
    if before + value < before {
        atomicAdd(&high[sum], 1u);
    }
}

fn share_group(sums: Sums, group: u32) {
    let first = group * SUMS_PER_GROUP;
    share(first, sums.tally & 127u);
    share(first + 1u, (sums.tally >> 7u) & 8191u);
    share(first + 2u, sums.tally >> 20u);
    share(first + 3u, sums.base);
    share(first + 4u, sums.disc_low);
    share(first + 5u, sums.disc_high);
    share(first + 6u, sums.charge_low);
    share(first + 7u, sums.charge_high);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) tile: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    var first = Sums();
    var second = Sums();
    var third = Sums();
    var fourth = Sums();
    let first_row = tile.x * (INVOCATIONS * ROWS) + lane;
    for (var step = 0u; step < ROWS; step++) {
        let row = first_row + step * INVOCATIONS;
        let word = terms[row];
        let price = price_cents[row];
        let shipped = (word & 4095u) <= last_ship_day;
        let quantity = (word >> 12u) & 63u;
        let discount = (word >> 18u) & 15u;
        let taxed = 100u + ((word >> 22u) & 15u);
        let group = (word >> 26u) & 3u;
        let disc_price = price * (100u - discount);
        let disc_low = disc_price & 0xffffu;
        let disc_high = disc_price >> 16u;
        let sums = Sums(
            1u | (quantity << 7u) | (discount << 20u),
            price,
            disc_low,
            disc_high,
            disc_low * taxed,
            disc_high * taxed,
        );
        first = add(first, sums, shipped && group == 0u);
        second = add(second, sums, shipped && group == 1u);
        third = add(third, sums, shipped && group == 2u);
        fourth = add(fourth, sums, shipped && group == 3u);
    }
    share_group(first, 0u);
    share_group(second, 1u);
    share_group(third, 2u);
    share_group(fourth, 3u);
    workgroupBarrier();
    if lane < SUMS {
        partials[tile.x * SUMS + lane] = vec2<u32>(atomicLoad(&low[lane]), atomicLoad(&high[lane]));
    }
}
