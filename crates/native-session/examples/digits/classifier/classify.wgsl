// What each row's scores miss, and how well they do. One invocation per row;
// the number of rows is the length of `labels`.

const INPUTS: u32 = 64u;
const CLASSES: u32 = 10u;

struct Outcome {
    loss: f32,
    hit: f32,
}

@group(0) @binding(0) var<storage, read> images: array<f32>;
@group(0) @binding(1) var<storage, read> labels: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> errors: array<f32>;
@group(0) @binding(4) var<storage, read_write> outcomes: array<Outcome>;

@compute @workgroup_size(64)
fn classify(@builtin(global_invocation_id) id: vec3<u32>) {
    let row = id.x;
    if row >= arrayLength(&labels) {
        return;
    }
    let label = labels[row];
    var scores: array<f32, CLASSES>;
    var best = 0u;
    for (var digit = 0u; digit < CLASSES; digit++) {
        let first = digit * (INPUTS + 1u);
        var score = weights[first + INPUTS];
        for (var input = 0u; input < INPUTS; input++) {
            score += weights[first + input] * images[row * INPUTS + input];
        }
        scores[digit] = score;
        if score > scores[best] {
            best = digit;
        }
    }
    // Subtracting the greatest score keeps the exponentials finite.
    let top = scores[best];
    var sum = 0.0;
    for (var digit = 0u; digit < CLASSES; digit++) {
        sum += exp(scores[digit] - top);
    }
    for (var digit = 0u; digit < CLASSES; digit++) {
        let probability = exp(scores[digit] - top) / sum;
        errors[row * CLASSES + digit] = probability - select(0.0, 1.0, digit == label);
    }
    outcomes[row] = Outcome(log(sum) + top - scores[label], select(0.0, 1.0, best == label));
}
