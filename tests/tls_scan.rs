//! sslyze finds no weakness.

use crate::support::{Scratch, missing, tls};
use serde_json::Value;
use std::process::{Command, Stdio};

#[test]
fn sslyze_finds_nothing_weak() {
    if missing("sslyze") {
        return;
    }
    let dir = Scratch::new();
    dir.write("site/index.html", "front");
    let server = tls::site(&dir, "", "");
    let (report, ca) = (dir.text("report.json"), dir.text("tls/ca.pem"));
    let scan = |args: &[&str]| {
        let mut command = Command::new("sslyze");
        let output = command.args(args).arg(&server.address).stdin(Stdio::null()).output();
        output.expect("sslyze starts")
    };
    // Its default checks compare with Mozilla's "intermediate" configuration.
    let output = scan(&["--certinfo_ca_file", &ca, "--json_out", &report]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("OK - Compliant") && output.status.success(), "{text}");

    let json: Value = serde_json::from_str(&dir.read("report.json")).expect("sslyze writes JSON");
    let found = |name: &str| json["server_scan_results"][0]["scan_result"][name]["result"].clone();
    for version in ["ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1"] {
        assert_eq!(
            found(&format!("{version}_cipher_suites"))["is_tls_version_supported"],
            false,
            "{version}"
        );
    }
    for version in ["tls_1_2", "tls_1_3"] {
        assert_eq!(found(&format!("{version}_cipher_suites"))["is_tls_version_supported"], true, "{version}");
    }
    assert_eq!(found("tls_compression")["supports_compression"], false);
    assert_eq!(found("openssl_ccs_injection")["is_vulnerable_to_ccs_injection"], false);
    assert_eq!(found("heartbleed")["is_vulnerable_to_heartbleed"], false);
    assert_eq!(found("robot")["robot_result"], "NOT_VULNERABLE_RSA_NOT_SUPPORTED");
    assert_eq!(found("session_renegotiation")["is_vulnerable_to_client_renegotiation_dos"], false);
    assert_eq!(found("tls_extended_master_secret")["supports_ems_extension"], true);
    let text = String::from_utf8_lossy(&scan(&["--early_data", "--resum"]).stdout).into_owned();
    assert!(text.contains("With Session IDs: OK - Supported (5 successful resumptions"), "{text}");
    assert!(
        text.contains("Not Supported") && !text.contains("Error when running"),
        "early data is off: {text}"
    );
}
