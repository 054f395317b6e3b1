//! The report of the demo: one HTML file with its pictures inside, where the program has any.

#[cfg(feature = "plot")]
mod pictures;

use std::fmt::Write as _;
use std::path::Path;

use evmachine::{Evm, Features, Report};
use evmachine_console::failure::Failure;
use evmachine_eval::{Answers, Evaluation};

use crate::files;

/// What happened, for the one who tells it.
#[cfg_attr(not(feature = "plot"), expect(dead_code, reason = "what pictures show"))]
pub(crate) struct Story<'a> {
    pub(crate) evm: &'a Evm,
    pub(crate) features: &'a Features<'a>,
    pub(crate) train: &'a [usize],
    pub(crate) test: &'a [usize],
    pub(crate) before: &'a (Answers, Evaluation),
    pub(crate) after: &'a (Answers, Evaluation),
    pub(crate) figures: &'a [Vec<String>],
    pub(crate) learned: &'a Report,
    pub(crate) updated: &'a Report,
    pub(crate) pooled: usize,
    pub(crate) strangers: usize,
    pub(crate) named: usize,
    pub(crate) groups: usize,
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
color:#222}h1{line-height:1.2}h2{margin-top:2.5rem}figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}\
figcaption{color:#555}table{border-collapse:collapse}td,th{padding:.25rem 1rem .25rem 0;text-align:right}\
td:first-child,th:first-child{text-align:left}tr{border-bottom:1px solid #ddd}";

pub(crate) fn write(story: &Story<'_>, path: &Path) -> Result<(), Failure> {
    files::write(path, &html(story)?)
}

#[cfg_attr(not(feature = "plot"), expect(clippy::unnecessary_wraps, reason = "pictures can fail"))]
fn html(story: &Story<'_>) -> Result<String, Failure> {
    let mut page = String::new();
    let known = story.learned.classes;
    let _ = write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>evmachine demo</title>\
         <style>{STYLE}</style></head><body><h1>From 15 letters to {}</h1>\
         <p>A model learned {known} letters from {} rows. Then it met letters of all 26 kinds. It called {} of \
         them unknown, {} of which were indeed of kinds that it had never seen. The unknowns were pooled, {} groups \
         were named by a person, {} samples in all, and the model learned {} new letters from them, without \
         retraining.</p>",
        story.updated.classes,
        story.learned.rows,
        story.pooled,
        story.strangers,
        story.groups,
        story.named,
        story.updated.new_classes.len(),
    );
    page.push_str("<h2>Before and after</h2><table><tr><th></th><th>before</th><th>after</th></tr>");
    for line in story.figures {
        let _ = write!(page, "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", line[0], line[1], line[2]);
    }
    page.push_str("</table>");
    #[cfg(feature = "plot")]
    pictures::add(&mut page, story)?;
    page.push_str("<p>Data: UCI Letter Recognition, D. Slate, CC BY 4.0.</p></body></html>\n");
    Ok(page)
}
