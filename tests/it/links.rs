//! Links between the documents lead somewhere: to a file that is there, and to a heading in it.

use std::fs;
use std::path::Path;

/// What a heading is called in a link: lower case, hyphens for spaces, no other signs.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

fn has_heading(document: &str, sought: &str) -> bool {
    document
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == sought)
}

/// The targets of a document's links, but for those that lead outside.
fn targets(document: &str) -> impl Iterator<Item = &str> {
    let links = document.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|target| !target.contains("://"))
}

#[test]
fn links_of_the_documents_lead_to_a_file_and_a_heading_in_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut followed = 0;
    for name in ["README.md", "CONTRIBUTING.md", "docs/design.md", "docs/hazards.md", "docs/mutants.md"] {
        let document = fs::read_to_string(root.join(name)).unwrap();
        for target in targets(&document) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let path = root.join(name).parent().unwrap().join(file);
            let path = if file.is_empty() { root.join(name) } else { path };
            let there = if heading.is_empty() {
                path.exists()
            } else {
                has_heading(&fs::read_to_string(&path).unwrap(), heading)
            };
            assert!(there, "{name} links to {target}");
            followed += 1;
        }
    }
    assert!(followed > 20, "{followed} links");
}
