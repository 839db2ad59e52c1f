import { flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/holdfast-crash', import.meta.url));

/** The environment for processes that start by the thousand: their code is compiled once. */
export function withCompileCache(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: FOLDER };
}

let isKept = false;

/**
 * Node saves its compiled code at exit. A process that will be killed saves it after its first
 * work, when everything is loaded.
 */
export function keepCompiled(): void {
  if (isKept) return;
  isKept = true;
  flushCompileCache();
}
