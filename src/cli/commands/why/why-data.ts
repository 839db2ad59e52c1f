import type { Answer } from '../../../why/answer.ts';
import type { Summary } from '../../../why/summary.ts';
import type { Found } from './find-answers.ts';

/** The output of `why --json`; documented in docs/reference/why-json.md. */
export function whyData({ answers, problems, about }: Found, summary: Summary | null) {
  return {
    schema: 'holdfast.why/1',
    about,
    ends: answers.map(answerData),
    summary,
    problems,
  };
}

function answerData({ judgement, timeline, atMs, ...answer }: Answer) {
  const { cause, title, confidence, evidence, against, missing, candidates } = judgement;
  return {
    subject: answer.subject,
    cause,
    title,
    confidence,
    evidence,
    against,
    missing,
    candidates,
    isUnfinished: answer.isUnfinished,
    unfinishedBecause: answer.unfinishedBecause,
    at: isoOrNull(atMs),
    node: answer.node,
    pool: answer.pool,
    loss: answer.loss,
    fit: answer.fit,
    setting: answer.setting,
    timeline: timeline.map(({ atMs: ms, from, text, isKey }) => ({ at: isoOrNull(ms), from, text, isKey })),
  };
}

/** Instants at the edge of the range of dates have no text. */
function isoOrNull(ms: number | null): string | null {
  const date = ms === null ? null : new Date(ms);
  return date === null || Number.isNaN(date.getTime()) ? null : date.toISOString();
}
