//! Filtering, limits, and the way from the ring to the real sink.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn ring() -> Arc<LogRing> {
    Arc::new(LogRing::new(100))
}

fn record(message: &str) -> LogRecord {
    LogRecord { level: Level::Info, source: "test".to_owned(), message: message.to_owned(), fields: Map::new() }
}

fn messages(ring: &LogRing) -> Vec<String> {
    ring.records().into_iter().map(|record| record.message).collect()
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(entries) => 1 + entries.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[test]
fn a_record_carries_what_was_said() {
    let sink = ring();
    let logger = Logger::new(sink.clone(), "kernel", Level::Debug);
    logger.warn("an extension failed").field("extension", "mail").field("faults", 3).field("fatal", false).write();
    assert_eq!(
        serde_json::to_value(sink.records()).unwrap(),
        json!([{
            "level": "warn", "source": "kernel", "message": "an extension failed",
            "fields": {"extension": "mail", "faults": 3, "fatal": false}
        }])
    );
}

#[test]
fn levels_below_the_least_are_dropped() {
    let all = [Level::Debug, Level::Info, Level::Warn, Level::Error];
    for (kept, least) in all.into_iter().enumerate() {
        let sink = ring();
        let logger = Logger::new(sink.clone(), "kernel", Level::Debug).with_level(least);
        logger.debug("d").field("a", 1).write();
        logger.info("i").write();
        logger.warn("w").write();
        logger.error("e").write();
        assert_eq!(messages(&sink), ["d", "i", "w", "e"][kept..]);
        assert_eq!(all.map(|level| logger.is_enabled(level)), all.map(|level| level >= least));
    }
}

#[test]
fn another_source_shares_sink_and_level() {
    let sink = ring();
    let logger = Logger::new(sink.clone(), "kernel", Level::Warn).with_source("mail");
    logger.info("dropped").write();
    logger.error("kept").write();
    let records = sink.records();
    assert_eq!((records.len(), records[0].source.as_str()), (1, "mail"));
}

#[test]
fn large_things_are_cut_without_splitting_characters() {
    let sink = ring();
    let logger = Logger::new(sink.clone(), &"s".repeat(500), Level::Info);
    let entry = logger.info(&format!("first\nsecond {}", "é".repeat(2000)));
    entry
        .field("text", "€".repeat(1000))
        .field(&"n".repeat(300), 1)
        .field("list", (0..100).collect::<Vec<i32>>())
        .field("deep", json!([[[[[1]]]]]))
        .field("wide", Value::Object((0..50).map(|index| (index.to_string(), json!(index))).collect()))
        .write();
    let record = sink.records().remove(0);
    assert!(record.message.len() <= MAX_MESSAGE_BYTES && record.message.starts_with("first second é"));
    assert!(record.message.ends_with('…') && record.source.len() <= MAX_NAME_BYTES);
    assert!(record.fields["text"].as_str().is_some_and(|text| text.len() <= MAX_FIELD_BYTES && text.ends_with("€…")));
    assert_eq!(record.fields["list"].as_array().map(Vec::len), Some(MAX_FIELD_ITEMS + 1));
    assert_eq!(record.fields["deep"], json!([[["…"]]]));
    assert_eq!(record.fields["wide"].as_object().map(Map::len), Some(MAX_FIELD_ITEMS + 1));
    assert!(record.fields.keys().all(|name| name.len() <= MAX_NAME_BYTES));
}

#[test]
fn too_many_fields_are_counted() {
    let sink = ring();
    let logger = Logger::new(sink.clone(), "kernel", Level::Info);
    let entry = (0..MAX_FIELDS + 5).fold(logger.info("m"), |entry, index| entry.field(&format!("f{index}"), index));
    entry.field("f0", "again").write();
    let record = sink.records().remove(0);
    assert_eq!(record.fields.len(), MAX_FIELDS + 1);
    assert_eq!((&record.fields[LEFT_OUT], &record.fields["f0"]), (&json!(5), &json!("again")));
}

#[test]
fn a_ring_keeps_the_newest() {
    let ring = LogRing::new(2);
    for message in ["a", "b", "c", "d"] {
        ring.write(record(message));
    }
    assert_eq!((messages(&ring), ring.lost()), (vec!["c".to_owned(), "d".to_owned()], 2));
    let smallest = LogRing::new(0);
    smallest.write(record("a"));
    assert_eq!(messages(&smallest), ["a"]);
}

#[test]
fn what_was_held_reaches_the_attached_sink_first() {
    let (early, real) = (LogRing::new(2), ring());
    for message in ["a", "b", "c"] {
        early.write(record(message));
    }
    early.attach(real.clone());
    early.write(record("d"));
    assert_eq!(messages(&real), ["early log records were dropped: the buffer was full", "b", "c", "d"]);
    assert_eq!(real.records()[0].fields["count"], json!(1));
    assert_eq!((messages(&early).len(), early.lost()), (0, 0));
    let other = ring();
    early.attach(other.clone());
    early.write(record("e"));
    assert_eq!((messages(&real).len(), messages(&other)), (4, vec!["e".to_owned()]));
}

/// A sink through which new records arrive while old ones are handed over.
struct Busy {
    early: Arc<LogRing>,
    real: Arc<LogRing>,
}

impl LogSink for Busy {
    fn write(&self, record: LogRecord) {
        if let Some(left) = record.message.parse::<u32>().ok().filter(|left| *left > 0) {
            self.early.write(LogRecord { message: (left - 1).to_string(), ..record.clone() });
        }
        self.real.write(record);
    }
}

#[test]
fn records_that_come_while_a_sink_is_attached_are_neither_lost_nor_reordered() {
    let (early, real) = (ring(), ring());
    early.write(record("3"));
    early.write(record("a"));
    early.attach(Arc::new(Busy { early: early.clone(), real: real.clone() }));
    assert_eq!(messages(&real), ["3", "a", "2", "1", "0"]);
    early.write(record("b"));
    assert_eq!(messages(&real).last().map(String::as_str), Some("b"));
    assert_eq!((messages(&early).len(), early.lost()), (0, 0));
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), ".{0,700}".prop_map(Value::from)];
    leaf.prop_recursive(6, 60, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
            prop::collection::btree_map(".{0,80}", inner, 0..20)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_field_fits_and_stays_as_it_is_when_cut_again(value in anything()) {
        let once = cut::value(value);
        prop_assert!(depth(&once) <= MAX_FIELD_DEPTH);
        prop_assert!(once.as_str().is_none_or(|text| text.len() <= MAX_FIELD_BYTES));
        if depth(&once) == 0 {
            prop_assert_eq!(cut::value(once.clone()), once);
        }
    }
}
