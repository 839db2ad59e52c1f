import { globSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src');

/** Modules that have another file in their place in the executable. */
const REPLACED: Readonly<Record<string, string>> = {
  'core/installation.ts': 'binary/installation.ts',
  'core/native-checksums.ts': 'binary/native-checksums.ts',
  'cli/version.ts': 'binary/version.ts',
};
const THREADS = 'binary/worker-threads.ts';

/** The whole program as one CommonJS text. What a command imports when it runs is evaluated only then, as in a clone. */
export async function bundleProgram(): Promise<string> {
  const bundle = await rolldown({
    input: join(SOURCE, 'binary/main.ts'),
    platform: 'node',
    plugins: [replaceModules(), deferBuiltins(), nameWorkers(), placeModules()],
    logLevel: 'warn',
  });
  const { output } = await bundle.generate({
    format: 'cjs',
    codeSplitting: false,
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    comments: false,
  });
  await bundle.close();
  const [program, ...rest] = output;
  if (rest.length > 0) throw new Error(`the program came in ${output.length} pieces, and must be one`);
  return inAscii(program.code);
}

/** A single character beyond Latin-1 has V8 keep the whole text of a program in two bytes for each. */
function inAscii(code: string): string {
  const escaped = /\\[^\0-\x7f]/.exec(code);
  if (escaped !== null) throw new Error(`a backslash before ${escaped[0].slice(1)} cannot be told from an escape of ours`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Parts of Node.js that few commands need; the bundler would load them, as all others, before the first line of the program. */
const DEFERRED = ['node:http', 'node:readline', 'node:tls'];

/** In place of such a part stands a module of its own, which is evaluated with the first one that imports it. */
function deferBuiltins(): Plugin {
  return {
    name: 'defer-builtins',
    resolveId: (source, importer) => (DEFERRED.includes(source) && importer !== deferred(source) ? deferred(source) : null),
    load: (id) => {
      const builtin = DEFERRED.find((name) => deferred(name) === id);
      return builtin === undefined ? null : `module.exports = require(${JSON.stringify(builtin)});`;
    },
  };
}

function deferred(builtin: string): string {
  return `\0deferred:${builtin}`;
}

/** A worker that is started by its URL is invisible to a bundler: the table of them is made here. */
function nameWorkers(): Plugin {
  return {
    name: 'name-workers',
    load(id) {
      if (id !== join(SOURCE, 'binary/workers.ts')) return null;
      const files = globSync('**/worker.ts', { cwd: SOURCE }).map((file) => file.split(sep).join('/'));
      const entries = files.map((file) => `${JSON.stringify(placeOf(file))}: () => import(${JSON.stringify(join(SOURCE, file))})`);
      return `export const WORKERS = { ${entries.join(', ')} };`;
    },
  };
}

function replaceModules(): Plugin {
  return {
    name: 'replace-modules',
    async resolveId(source, importer, options) {
      if (source === 'node:worker_threads') return importer === join(SOURCE, THREADS) ? null : join(SOURCE, THREADS);
      const found = await this.resolve(source, importer, { ...options, skipSelf: true });
      const other = found === null ? undefined : REPLACED[relative(SOURCE, found.id)];
      return other === undefined ? found : join(SOURCE, other);
    },
  };
}

/** A module says where it lies when it looks for its worker: its place below `src`, as a URL. */
function placeModules(): Plugin {
  return {
    name: 'place-modules',
    transform(code, id) {
      if (!id.startsWith(SOURCE)) return null;
      if (code.includes('import.meta.dirname'))
        throw new Error(`${id}: there is no folder of a module in the executable; use core/installation.ts`);
      const url = new URL(placeOf(relative(SOURCE, id)), 'file:///').href;
      return code.includes('import.meta.url') ? code.replaceAll('import.meta.url', JSON.stringify(url)) : null;
    },
  };
}

/** `/checkpoint/deep/worker.js`, for a file below `src`. */
function placeOf(file: string): string {
  return `/${file.split(sep).join('/').replace(/ts$/, 'js')}`;
}
