import { buildMatcher } from '@microsoft/sarif-matcher-utils';

/** Why a log does not follow the JSON schema of SARIF 2.1.0; null if it is valid. */
export function sarifFault(log: unknown): string | null {
  const verdict = buildMatcher()(log);
  return verdict.pass ? null : verdict.message();
}
