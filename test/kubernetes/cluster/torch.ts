import { fileURLToPath } from 'node:url';
import { prepare } from './prepare.ts';

/** In the environment of tests, where it could not be installed. */
export const WHY_NO_TORCH = 'HOLDFAST_TORCH_NOT_INSTALLED';
const SETUP = fileURLToPath(new URL('../../frameworks/setup.sh', import.meta.url));

/** Installs it where it is not there yet; what is said meanwhile goes to standard error. Says why not when it cannot, else null. */
export async function installTorch(): Promise<string | null> {
  const reason = await prepare([SETUP, 'torch']);
  return reason === null
    ? null
    : `torch could not be installed: ${reason}; \`test/frameworks/setup.sh torch\` tries it again, and tells more`;
}

/** Why it is not there: as whoever has tried to install it was told, if it was tried. */
export function whyNoTorch(): string {
  return process.env[WHY_NO_TORCH] ?? 'torch is not installed: `test/frameworks/setup.sh torch` installs it';
}
