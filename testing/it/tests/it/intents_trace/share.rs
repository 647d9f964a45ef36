//! The ledger for other programs and for people.

use super::repository::TraceRepository;
use ext_intents::contract::ScopeValidation;

fn busy() -> TraceRepository {
    let repository = TraceRepository::new();
    repository.agent("INT-001", "src/old.rs", "fn old() {\n    one();\n    two();\n}\n");
    repository.agent_with("src/=odd, \"name\".rs", Some(b"fn x() {}\n"), |entry| {
        entry.scope_validation = ScopeValidation::Fail;
        entry.error = Some("=HYPERLINK(\"x\")".to_owned());
    });
    repository
}

#[test]
fn entries_are_exported_as_they_are_or_as_rows() {
    let repository = busy();
    let lines = repository.trace(&["export", "--format", "jsonl"]);
    assert_eq!(lines.stdout.as_bytes(), std::fs::read(repository.orchestration().join("agent_trace.jsonl")).unwrap());
    let rows = repository.trace(&["export", "--format", "csv"]).stdout;
    assert_eq!(rows.matches("\r\n").count(), 3, "{rows}");
    assert!(rows.contains("\"src/=odd, \"\"name\"\".rs\""), "{rows}");
    assert!(rows.contains("\"'=HYPERLINK(\"\"x\"\")\""), "{rows}");
    assert_eq!(repository.trace(&["export", "--format", "xml"]).status, 2);
}

#[test]
fn agent_trace_records_have_the_fields_of_the_format_and_no_others() {
    let repository = busy();
    let output = repository.trace(&["export", "--format", "agent-trace"]);
    let records: Vec<serde_json::Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 2, "{output:?}");
    for record in &records {
        for name in record.as_object().unwrap().keys() {
            assert!(
                ["version", "id", "timestamp", "vcs", "tool", "files", "metadata"].contains(&name.as_str()),
                "{name}"
            );
        }
        assert_eq!(record["version"], "0.1.0");
        for file in record["files"].as_array().unwrap() {
            for conversation in file["conversations"].as_array().unwrap() {
                for name in conversation.as_object().unwrap().keys() {
                    assert!(["url", "contributor", "ranges", "related"].contains(&name.as_str()), "{name}");
                }
                let is_agent = conversation["contributor"]["type"] == "ai";
                let url = conversation["url"].as_str();
                assert_eq!(url.is_some_and(|url| url.starts_with("urn:dispatch:claude-code:session:")), is_agent);
                for range in conversation["ranges"].as_array().unwrap() {
                    assert!(range["start_line"].as_u64().unwrap() >= 1);
                    assert!(range["end_line"].as_u64() >= range["start_line"].as_u64());
                    assert!(range["content_hash"].as_str().unwrap().starts_with("sha256:"));
                }
            }
        }
    }
    let agents: Vec<_> =
        records.iter().filter(|record| record["metadata"]["dev.dispatch"]["intent"] == "INT-001").collect();
    assert_eq!(agents[0]["files"][1]["conversations"][0]["ranges"][0]["start_line"], 3);
    assert!(agents[0].get("vcs").is_none(), "lines that are not committed have no revision");
    repository.commit_all("work");
    let output = repository.trace(&["export", "--agent-trace"]);
    let first: serde_json::Value = serde_json::from_str(output.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["vcs"]["revision"].as_str().unwrap(), repository.git(&["rev-parse", "HEAD"]).trim());
}

#[test]
fn the_page_is_written_whole_and_needs_nothing_else() {
    let repository = busy();
    let output = repository.trace(&["report", "--output", "report.html"]);
    assert_eq!((output.status, output.stdout.as_str()), (0, ""));
    let page = String::from_utf8(repository.read("report.html").unwrap()).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("src/=odd, &quot;name&quot;.rs"), "escapes are listed");
    assert!(page.contains("The ledger is verified"));
    assert!(
        !page.contains("<script") && !page.contains("http:") && !page.contains("https:"),
        "nothing is run or fetched"
    );
    let leftovers = std::fs::read_dir(repository.context.project()).unwrap().flatten();
    assert!(!leftovers.into_iter().any(|file| file.file_name().to_string_lossy().ends_with(".tmp")));
    let missing = repository.trace(&["report", "--output", "absent/report.html"]);
    assert_eq!(missing.status, 4);
    assert!(missing.stderr.starts_with("error:"), "{missing:?}");
}
