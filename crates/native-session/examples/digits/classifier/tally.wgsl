// The sum of all rows' outcomes, by one workgroup.

const LANES: u32 = 64u;

struct Outcome {
    loss: f32,
    hit: f32,
}

@group(0) @binding(0) var<storage, read> outcomes: array<Outcome>;
@group(0) @binding(1) var<storage, read_write> total: Outcome;

var<workgroup> losses: array<f32, LANES>;
var<workgroup> hits: array<f32, LANES>;

@compute @workgroup_size(64)
fn tally(@builtin(local_invocation_index) lane: u32) {
    var loss = 0.0;
    var hit = 0.0;
    for (var row = lane; row < arrayLength(&outcomes); row += LANES) {
        loss += outcomes[row].loss;
        hit += outcomes[row].hit;
    }
    losses[lane] = loss;
    hits[lane] = hit;
    workgroupBarrier();
    for (var reach = LANES / 2u; reach > 0u; reach = reach / 2u) {
        if lane < reach {
            losses[lane] += losses[lane + reach];
            hits[lane] += hits[lane + reach];
        }
        workgroupBarrier();
    }
    if lane == 0u {
        total = Outcome(losses[0], hits[0]);
    }
}
