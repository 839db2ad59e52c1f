import type { ObservedJob } from './observed-job.ts';

/** The annotation with the limit that the Job was created with. */
const FIRST_LIMIT = 'holdfast.dev/first-backoff-limit';
/** The annotation with the last good step at which the limit was raised last. */
const EXTENDED_AT = 'holdfast.dev/backoff-extended-at-step';

/**
 * The change that lets a Job go on which makes progress: after each new good step it may fail as
 * often again as its first limit allows. Null: nothing is to be changed.
 */
export function extension(job: ObservedJob, lastGoodStep: number | null): Readonly<Record<string, unknown>> | null {
  const { choices, backoffLimit, failed, ended, object } = job;
  if (!choices.extendsBackoff || job.hasOwnIndexes || ended !== null || lastGoodStep === null) return null;
  const annotations = object.metadata.annotations ?? {};
  const extendedAt = wholeNumber(annotations[EXTENDED_AT]);
  const first = wholeNumber(annotations[FIRST_LIMIT]) ?? backoffLimit;
  const limit = first + failed;
  if (limit <= backoffLimit || (extendedAt !== null && lastGoodStep <= extendedAt)) return null;
  return {
    metadata: {
      resourceVersion: object.metadata.resourceVersion,
      annotations: { [FIRST_LIMIT]: String(first), [EXTENDED_AT]: String(lastGoodStep) },
    },
    spec: { backoffLimit: limit },
  };
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
