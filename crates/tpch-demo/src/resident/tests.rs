//! The kernels on a real device, at values that generated data hardly has.

use proptest::test_runner::{Config, TestRunner};
use runtime_core::RuntimeOptions;

use super::*;
use crate::answers::Answer;
use crate::columns::MOST_QUANTITY;
use crate::cpu;
use crate::kernels::{
    self,
    tests::{largest_tile, tiles},
};

fn runtime() -> Runtime {
    let options = RuntimeOptions::default().allow_software(true);
    Runtime::with_options(options).expect("these tests need a Vulkan device")
}

fn on_device(runtime: &Runtime, query: Query, table: &Lineitem) -> Answer {
    let resident = Resident::upload(runtime, runtime, table).unwrap();
    let bytes = resident.partial_bytes(query);
    let partials = runtime.allocate(bytes, MemoryPlacement::Device).unwrap();
    let mut graph = runtime.graph();
    resident.scan(&mut graph, query, &partials.view()).unwrap();
    let output = graph.download(&partials.view()).unwrap();
    let completion = graph.prepare().unwrap().run().submit().unwrap();
    completion.wait().unwrap();
    kernels::answer(query, &completion.output::<u32>(output).unwrap())
}

#[test]
fn the_largest_values_are_exact_on_device() {
    let runtime = runtime();
    let (q1, q6) = (Q1Predicate::PUBLISHED, Q6Predicate::PUBLISHED);
    let tables = [
        largest_tile(q1.last_ship_day, MOST_QUANTITY, 0),
        largest_tile(
            q6.first_ship_day,
            q6.end_quantity - 1,
            q6.most_discount_percent,
        ),
    ];
    let table = Lineitem {
        segments: tables
            .into_iter()
            .flat_map(|table| table.segments)
            .collect(),
    };
    for query in Query::ALL {
        assert_eq!(
            on_device(&runtime, query, &table),
            cpu::answer(query, &table)
        );
    }
}

#[test]
fn random_tiles_agree_with_the_cpu() {
    let runtime = runtime();
    let mut cases = TestRunner::new(Config::with_cases(12));
    let agree = |table: Lineitem| {
        for query in Query::ALL {
            assert_eq!(
                on_device(&runtime, query, &table),
                cpu::answer(query, &table)
            );
        }
        Ok(())
    };
    cases.run(&tiles(), agree).unwrap();
}
