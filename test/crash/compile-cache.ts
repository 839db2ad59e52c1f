import { flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/holdfast-crash', import.meta.url));

/** The environment for processes that are started by the thousand: what they load is compiled once. */
export function withCompileCache(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: FOLDER };
}

let isKept = false;

/** Node keeps what it compiled when it exits; a process that is there to be killed keeps it once it has worked, and so has everything loaded. */
export function keepCompiled(): void {
  if (isKept) return;
  isKept = true;
  flushCompileCache();
}
