import type { Position, Span } from './source.ts';

/**
 * From worst to least: `error` loses work or is refused by the API server, `warning` hurts in an
 * interruption, `info` is advice.
 */
export const SEVERITIES = ['error', 'warning', 'info'] as const;
/** How bad a finding is. */
export type Severity = (typeof SEVERITIES)[number];

/** A replacement of a stretch of one source. */
export interface Edit extends Span {
  readonly text: string;
}

/**
 * What a rule reports at a place: the sentence for people, and the edits where there is one right
 * answer.
 */
export interface Hit {
  readonly at: Span;
  readonly message: string;
  readonly edits?: readonly Edit[];
}

/** A hit with everything a reader needs to act on it. */
export interface Finding {
  readonly code: string;
  readonly severity: Severity;
  readonly path: string;
  readonly start: Position;
  readonly end: Position;
  /** What is wrong here, and why, in one sentence. */
  readonly message: string;
  /** What to do. */
  readonly fix: string;
  readonly edits: readonly Edit[];
}

/** A finding that a comment switches off. */
export interface Suppressed extends Finding {
  readonly reason: string;
}

/** An input, or a part of one, that was not linted. */
export interface Skip {
  readonly path: string;
  readonly start: Position;
  readonly kind: SkipKind;
  readonly message: string;
}

/** Why something was not linted; the ones that are failures mean that the answer is incomplete. */
export const SKIP_KINDS = {
  'broken-yaml': { isFailure: true, title: 'The YAML cannot be read' },
  template: { isFailure: true, title: 'The file is a template that was not rendered' },
  'too-large': { isFailure: true, title: 'The file is larger than 10 MB' },
  'too-deep': { isFailure: true, title: 'The document is nested too deeply, or has too many nodes' },
  'not-text': { isFailure: true, title: 'The file is not UTF-8' },
  'not-readable': { isFailure: true, title: 'The file cannot be read' },
  'python-2': { isFailure: true, title: 'The file is Python 2' },
  'not-python': { isFailure: true, title: 'A line is not understood as Python 3' },
  notebook: { isFailure: false, title: 'A notebook' },
} as const satisfies Readonly<Record<string, { readonly isFailure: boolean; readonly title: string }>>;
/** Why a file or document was skipped. */
export type SkipKind = keyof typeof SKIP_KINDS;
