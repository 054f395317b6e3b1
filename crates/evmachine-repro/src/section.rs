//! What an experiment has to say: text, tables and pictures, as Markdown beside its files and as a part of one page.

use std::fmt::Write as _;
use std::path::Path;

use evmachine_plot::Picture;

use crate::error::ReproError;

/// A table; all columns but the first are numbers.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What stands above it.
    pub caption: String,
    /// The names of the columns.
    pub header: Vec<String>,
    /// As many cells in each row.
    pub rows: Vec<Vec<String>>,
}

/// A sentence of the paper and what was measured.
#[derive(Debug, Clone)]
pub struct Claim {
    /// What the paper says.
    pub paper: String,
    /// What came out here.
    pub measured: String,
    /// Whether it agrees.
    pub verdict: Verdict,
    /// Why, where it does not; or what to keep in mind where it does.
    pub why: String,
}

/// Whether a run agrees with a sentence of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Agrees,
    /// It does not.
    Differs,
    /// What the sentence speaks of was not, or could not be, done here.
    NotComparable,
}

impl Verdict {
    pub(crate) fn of(agrees: bool) -> Self {
        if agrees { Self::Agrees } else { Self::Differs }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Agrees => "Agrees.",
            Self::Differs => "Does not agree.",
            Self::NotComparable => "Cannot be compared.",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::NotComparable => "open",
        }
    }
}

/// A figure.
#[derive(Debug)]
pub struct Figure {
    /// The name of its files, without ending.
    pub name: String,
    /// What stands below it.
    pub caption: String,
    /// The drawing.
    pub picture: Picture,
}

/// An experiment, told.
#[derive(Debug, Default)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// The command that made it.
    pub command: String,
    /// What was done.
    pub text: Vec<String>,
    /// What the paper says of it.
    pub claims: Vec<Claim>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Pictures.
    pub figures: Vec<Figure>,
}

impl Section {
    /// Writes `summary.md` and the pictures, as SVG and PNG, into the folder.
    pub fn write(&self, folder: &Path) -> Result<(), ReproError> {
        let path = folder.join("summary.md");
        evmachine_files::write_with_folder(&path, self.markdown().as_bytes())
            .map_err(ReproError::file(&path))?;
        for figure in &self.figures {
            figure.picture.save(folder.join(format!("{}.svg", figure.name)))?;
            figure.picture.save(folder.join(format!("{}.png", figure.name)))?;
        }
        Ok(())
    }

    /// The section as Markdown.
    pub fn markdown(&self) -> String {
        let mut page = format!("# {}\n\n`{}`\n", self.title, self.command);
        for paragraph in &self.text {
            let _ = write!(page, "\n{paragraph}\n");
        }
        if !self.claims.is_empty() {
            page.push_str(
                "\n## The paper and this run\n\n| the paper said | we found | why |\n|---|---|---|\n",
            );
        }
        for claim in &self.claims {
            let (paper, measured, why) = (&claim.paper, &claim.measured, claim.why.trim_end());
            let _ = writeln!(page, "| {paper} | **{}** {measured} | {why} |", claim.verdict.words());
        }
        for table in &self.tables {
            let _ = write!(page, "\n## {}\n\n| {} |\n|---|", table.caption, table.header.join(" | "));
            page.push_str(&"---:|".repeat(table.header.len().saturating_sub(1)));
            page.push('\n');
            for row in &table.rows {
                let _ = writeln!(page, "| {} |", row.join(" | "));
            }
        }
        for figure in &self.figures {
            let _ = write!(page, "\n![{}]({}.png)\n", figure.caption, figure.name);
        }
        page
    }

    /// The section as a part of an HTML page.
    pub fn html(&self) -> String {
        let mut page = format!(
            "<section><h2>{}</h2><p><code>{}</code></p>",
            escaped(&self.title),
            escaped(&self.command)
        );
        for paragraph in &self.text {
            let _ = write!(page, "<p>{}</p>", escaped(paragraph));
        }
        if !self.claims.is_empty() {
            page.push_str(
                "<table class=\"claims\"><tr><th>The paper said</th><th>We found</th><th>Why</th></tr>",
            );
            for claim in &self.claims {
                let class = claim.verdict.class();
                let _ = write!(
                    page,
                    "<tr><td>{}</td><td class=\"{class}\"><b>{}</b> {}</td><td>{}</td></tr>",
                    escaped(&claim.paper),
                    claim.verdict.words(),
                    escaped(&claim.measured),
                    escaped(&claim.why)
                );
            }
            page.push_str("</table>");
        }
        for figure in &self.figures {
            // An XML declaration has no place inside HTML.
            let svg = figure.picture.svg();
            let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
            let caption = escaped(&figure.caption);
            let _ = write!(page, "<figure>{svg}<figcaption>{caption}</figcaption></figure>");
        }
        for table in &self.tables {
            let _ = write!(page, "<h3>{}</h3><table class=\"numbers\"><tr>", escaped(&table.caption));
            for name in &table.header {
                let _ = write!(page, "<th>{}</th>", escaped(name));
            }
            page.push_str("</tr>");
            for row in &table.rows {
                page.push_str("<tr>");
                for cell in row {
                    let _ = write!(page, "<td>{}</td>", escaped(cell));
                }
                page.push_str("</tr>");
            }
            page.push_str("</table>");
        }
        page.push_str("</section>");
        page
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;\
color:#222}h1{line-height:1.2}h2{margin-top:3rem}figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}\
figcaption{color:#555}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem 1rem .25rem 0;\
vertical-align:top;text-align:left}.numbers td,.numbers th{text-align:right}.numbers td:first-child,\
.numbers th:first-child{text-align:left}tr{border-bottom:1px solid #ddd}.claims td{width:33%}\
.agrees b{color:#00704f}.differs b{color:#b34700}";

/// One page with all sections, their pictures inside.
pub fn page(sections: &[Section]) -> String {
    let all = sections.iter().flat_map(|section| &section.claims);
    let agreeing = all.filter(|claim| claim.verdict == Verdict::Agrees).count();
    let claims: usize = sections.iter().map(|section| section.claims.len()).sum();
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>The Extreme Value Machine: the \
         paper's experiments</title><style>{STYLE}</style></head><body><h1>The Extreme Value Machine: the paper's \
         experiments, run again</h1><p>Rudd, Jain, Scheirer and Boult, TPAMI 2018, beside what evmachine {} measured. \
         Of {claims} claims, {agreeing} agree with this run.</p>",
        env!("CARGO_PKG_VERSION")
    );
    for section in sections {
        page.push_str(&section.html());
    }
    page.push_str("<p>Data: UCI Letter Recognition, D. Slate, CC BY 4.0.</p></body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let section = Section {
            title: "Size & accuracy".to_owned(),
            command: "evmachine-repro budget".to_owned(),
            claims: vec![Claim {
                paper: "96 % with all points.".to_owned(),
                measured: "95.7 %.".to_owned(),
                verdict: Verdict::Agrees,
                why: String::new(),
            }],
            tables: vec![Table {
                caption: "Sizes".to_owned(),
                header: vec!["ratio".to_owned(), "accuracy".to_owned()],
                rows: vec![vec!["0.1".to_owned(), "0.92".to_owned()]],
            }],
            ..Section::default()
        };
        let markdown = section.markdown();
        assert!(markdown.contains("| ratio | accuracy |\n|---|---:|\n| 0.1 | 0.92 |"), "{markdown}");
        assert!(markdown.contains("| 96 % with all points. | **Agrees.** 95.7 %. |  |"), "{markdown}");
        let html = page(&[section]);
        assert!(html.contains("Size &amp; accuracy") && html.contains("<td>0.92</td>"));
        assert!(html.contains("Of 1 claims, 1 agree"));
    }
}
