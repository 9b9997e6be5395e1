//! What stands around the sections.

use super::mark;
use crate::figures::duration;
use crate::model::Report;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// A section; left out where it has nothing to say.
pub(super) struct Section {
    pub id: &'static str,
    pub title: &'static str,
    pub body: Option<Markup>,
}

/// Nothing is loaded from anywhere, whatever a text in a report might try.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    img-src data:; base-uri 'none'; form-action 'none'";

pub(super) fn page(report: &Report, sections: &[Section]) -> Markup {
    let there: Vec<_> = sections.iter().filter(|section| section.body.is_some()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content=(format!("{} {}", report.generator.name, report.generator.version));
                link rel="icon" href="data:,";
                title { "Trapline: " (report.verdict.standing.words()) ", " (report.run.started) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                a.skip href="#verdict" { "To the verdict" }
                header.top {
                    p.kicker { "Trapline · qualification report" }
                    h1 { "Interrupt virtualization on AMD SVM" }
                    p.facts {
                        span { (report.environment.class) }
                        span { "QEMU " (report.environment.qemu.version) }
                        span { time datetime=(report.run.started) { (report.run.started.replace('T', " ").replace('Z', " UTC")) } }
                        span { (duration(report.run.duration_ms)) }
                        @if let Some(revision) = &report.environment.build.revision {
                            span { "revision " code { (mark::short(revision)) } }
                        }
                    }
                }
                nav.toc aria-label="Sections" {
                    ul {
                        @for section in &there {
                            li { a href={ "#" (section.id) } { (section.title) } }
                        }
                    }
                }
                main {
                    @for section in &there {
                        section id=(section.id) aria-labelledby={ "h-" (section.id) } {
                            h2 id={ "h-" (section.id) } { (section.title) }
                            @if let Some(body) = &section.body { (body) }
                        }
                    }
                }
                footer {
                    p {
                        "Written by " (report.generator.name) " " (report.generator.version)
                        ", report version " (report.version)
                        ". " code { "trapline render report.json" } " makes this page again."
                    }
                }
                script { (PreEscaped(include_str!("script.js"))) }
            }
        }
    }
}
