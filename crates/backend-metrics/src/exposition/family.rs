//! Metric families: one name, one type, and samples with distinct labels.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use crate::histogram::HistogramSnapshot;

/// Label names with their values, in the order in which they are written.
pub(super) type Labels = Vec<(&'static str, String)>;

/// The name, the help text and the unit of a family.
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
}

impl Family {
    pub(super) fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            unit: None,
        }
    }

    /// Appends the unit to the name.
    pub(super) fn unit(self, unit: Unit) -> Self {
        Self {
            unit: Some(unit),
            ..self
        }
    }

    /// Writes counters.
    pub(super) fn counters(
        &self,
        encoder: &mut DescriptorEncoder,
        rows: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(encoder, MetricType::Counter)?;
        for (labels, count) in added_up(rows) {
            sample(&mut family, &labels, |series| {
                series.encode_counter::<NoLabelSet, _, u64>(&count, None)
            })?;
        }
        Ok(())
    }

    /// Writes gauges of whole numbers.
    pub(super) fn gauges(
        &self,
        encoder: &mut DescriptorEncoder,
        rows: impl IntoIterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut family = self.begin(encoder, MetricType::Gauge)?;
        for (labels, value) in added_up(rows) {
            sample(&mut family, &labels, |series| series.encode_gauge(&value))?;
        }
        Ok(())
    }

    /// Writes one gauge without labels.
    pub(super) fn number(&self, encoder: &mut DescriptorEncoder, value: f64) -> fmt::Result {
        self.begin(encoder, MetricType::Gauge)?.encode_gauge(&value)
    }

    /// Writes histograms of durations, in seconds.
    pub(super) fn histograms<'a>(
        self,
        encoder: &mut DescriptorEncoder,
        bounds_ns: &[u64],
        rows: impl IntoIterator<Item = (Labels, &'a HistogramSnapshot)>,
    ) -> fmt::Result {
        let family = self.unit(Unit::Seconds);
        let mut family = family.begin(encoder, MetricType::Histogram)?;
        let mut totals = BTreeMap::<Labels, HistogramSnapshot>::new();
        for (labels, histogram) in rows {
            let total = totals.entry(labels);
            total
                .and_modify(|total| total.add(histogram))
                .or_insert_with(|| histogram.clone());
        }
        for (labels, histogram) in &totals {
            let buckets = buckets(histogram, bounds_ns);
            let count = buckets.iter().map(|(_, count)| count).sum();
            let sum = seconds(histogram.sum_ns);
            sample(&mut family, labels, |series| {
                series.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
            })?;
        }
        Ok(())
    }

    fn begin<'a>(
        &'a self,
        encoder: &'a mut DescriptorEncoder,
        kind: MetricType,
    ) -> Result<MetricEncoder<'a>, fmt::Error> {
        encoder.encode_descriptor(self.name, self.help, self.unit.as_ref(), kind)
    }
}

/// Writes one sample; a sample without labels has no braces.
fn sample(
    family: &mut MetricEncoder,
    labels: &Labels,
    write: impl FnOnce(&mut MetricEncoder) -> fmt::Result,
) -> fmt::Result {
    if labels.is_empty() {
        return write(family);
    }
    write(&mut family.encode_family(labels)?)
}

/// The rows in the order of their labels, equal labels added up.
fn added_up(rows: impl IntoIterator<Item = (Labels, u64)>) -> BTreeMap<Labels, u64> {
    let mut totals = BTreeMap::new();
    for (labels, value) in rows {
        let total: &mut u64 = totals.entry(labels).or_default();
        *total = total.saturating_add(value);
    }
    totals
}

/// Buckets by their bound in seconds, infinity last.
///
/// A snapshot may come from anywhere, so buckets beyond the bounds count as
/// infinite, and counts that would overflow in sum are cut.
fn buckets(histogram: &HistogramSnapshot, bounds_ns: &[u64]) -> Vec<(f64, u64)> {
    let mut room = u64::MAX;
    let mut cut = |count: u64| {
        let count = count.min(room);
        room -= count;
        count
    };
    let mut counts = histogram.buckets.iter().copied();
    let mut buckets: Vec<_> = bounds_ns
        .iter()
        .map(|bound_ns| (seconds(*bound_ns), cut(counts.next().unwrap_or(0))))
        .collect();
    let beyond = counts.fold(0, |beyond: u64, count| beyond.saturating_add(cut(count)));
    buckets.push((f64::INFINITY, beyond));
    buckets
}

fn seconds(duration_ns: u64) -> f64 {
    Duration::from_nanos(duration_ns).as_secs_f64()
}
