// One step down the mean gradient, with momentum. One workgroup per weight:
// x is its input (the one past the last is the bias), y its digit.

const INPUTS: u32 = 64u;
const CLASSES: u32 = 10u;
const LANES: u32 = 64u;
const LEARNING_RATE: f32 = 0.5;
const MOMENTUM: f32 = 0.9;

@group(0) @binding(0) var<storage, read> images: array<f32>;
@group(0) @binding(1) var<storage, read> errors: array<f32>;
@group(0) @binding(2) var<storage, read_write> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> velocity: array<f32>;

var<workgroup> sums: array<f32, LANES>;

@compute @workgroup_size(64)
fn step_down(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let input = group.x;
    let digit = group.y;
    let rows = arrayLength(&errors) / CLASSES;
    var sum = 0.0;
    for (var row = lane; row < rows; row += LANES) {
        var value = 1.0;
        if input < INPUTS {
            value = images[row * INPUTS + input];
        }
        sum += errors[row * CLASSES + digit] * value;
    }
    sums[lane] = sum;
    workgroupBarrier();
    for (var reach = LANES / 2u; reach > 0u; reach = reach / 2u) {
        if lane < reach {
            sums[lane] += sums[lane + reach];
        }
        workgroupBarrier();
    }
    if lane == 0u {
        let weight = digit * (INPUTS + 1u) + input;
        let speed = MOMENTUM * velocity[weight] + sums[0] / f32(rows);
        velocity[weight] = speed;
        weights[weight] -= LEARNING_RATE * speed;
    }
}
