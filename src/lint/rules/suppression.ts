import type { CommentRule } from '../engine/rule.ts';

/** A comment that switches nothing off. */
export const suppressionInvalid: CommentRule = {
  code: 'SUPPRESSION_INVALID',
  severity: 'warning',
  on: 'comment',
  title: 'A comment that should switch a rule off does not',
  why: 'Such a comment names one or more codes, and the reason why you accept the finding. Without either, or with an unknown code, it switches nothing off.',
  fix: 'Write it as `# holdfast-lint: off CODE reason`.',
  bad: { manifest: '\n# holdfast-lint: off JOB_NO_TTL\nkind: Job\n' },
  good: { manifest: '\n# holdfast-lint: off JOB_NO_TTL a cleaner deletes them after a month\nkind: Job\n' },
  check(suppressions, known) {
    return suppressions.flatMap((one) => {
      const unknown = one.codes.filter((code) => !known.has(code));
      if (one.codes.length === 0) return [{ at: one, message: 'This names no code, and switches nothing off.' }];
      if (unknown.length > 0) return [{ at: one, message: `No rule has the code ${unknown.join(', ')}.` }];
      if (one.reason !== '') return [];
      return [{ at: one, message: `This gives no reason, and does not switch ${one.codes.join(', ')} off.` }];
    });
  },
};
