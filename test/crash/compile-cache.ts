import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The environment for processes that are started by the thousand: what they load is compiled once. */
export function withCompileCache(): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'holdfast-compile-cache') };
}
