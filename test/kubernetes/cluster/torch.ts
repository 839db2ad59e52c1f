import { fileURLToPath } from 'node:url';
import { prepare } from './prepare.ts';

/** The environment variable that tells tests why torch could not be installed. */
export const WHY_NO_TORCH = 'HOLDFAST_TORCH_NOT_INSTALLED';
const SETUP = fileURLToPath(new URL('../../frameworks/setup.sh', import.meta.url));

/**
 * Installs torch if it is missing; the output goes to standard error. Returns the reason if that is
 * not possible, else null.
 */
export async function installTorch(): Promise<string | null> {
  const reason = await prepare([SETUP, 'torch']);
  return reason === null
    ? null
    : `torch could not be installed: ${reason}; \`test/frameworks/setup.sh torch\` tries it again, and tells more`;
}

/** Why torch is missing, in the words of the last installation. */
export function whyNoTorch(): string {
  return process.env[WHY_NO_TORCH] ?? 'torch is not installed: `test/frameworks/setup.sh torch` installs it';
}
