import { globSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src');

/** Modules that another file replaces in the executable. */
const REPLACED: Readonly<Record<string, string>> = {
  'core/installation.ts': 'binary/installation.ts',
  'core/native-checksums.ts': 'binary/native-checksums.ts',
  'cli/frame/version.ts': 'binary/version.ts',
};
const THREADS = 'binary/worker-threads.ts';

/** The executables: the whole command line, and `run` alone for the pods of a training job. */
export const PROGRAMS = { holdfast: 'binary/main.ts', 'holdfast-run': 'binary/main-run.ts' } as const;
/** The name of an executable. */
export type ProgramName = keyof typeof PROGRAMS;

/** A program, and the modules that it was made of: paths, or names of Node.js's parts. */
export interface Bundle {
  readonly code: string;
  readonly modules: readonly string[];
}

/**
 * A whole program as one CommonJS text. What a command imports when it runs is evaluated only then,
 * as in a clone.
 */
export async function bundleProgram(name: ProgramName): Promise<Bundle> {
  const bundle = await rolldown({
    input: join(SOURCE, PROGRAMS[name]),
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
  return { code: inAscii(program.code), modules: [...program.moduleIds, ...program.imports] };
}

/**
 * If a program has a single character beyond Latin-1, V8 stores its whole text with two bytes per
 * character.
 */
function inAscii(code: string): string {
  const escaped = /\\[^\0-\x7f]/.exec(code);
  if (escaped !== null) throw new Error(`a backslash before ${escaped[0].slice(1)} cannot be told from an escape of ours`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Parts of Node.js that few commands need. The bundler would load them before the program's first
 * line, like all others.
 */
const DEFERRED = ['node:http', 'node:readline', 'node:tls'];

/** Replaces such a part with a module that is evaluated when another module first imports it. */
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

/**
 * A worker that is started by its URL is invisible to a bundler: the table of them is made here.
 * The command line starts none itself; its files of that name are commands.
 */
function nameWorkers(): Plugin {
  return {
    name: 'name-workers',
    load(id) {
      if (id !== join(SOURCE, 'binary/workers.ts')) return null;
      const files = globSync('**/*-worker.ts', { cwd: SOURCE, exclude: ['cli'] }).map((file) => file.split(sep).join('/'));
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

/** A module uses its own location to find its worker: its path below `src`, as a URL. */
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

/** `/bytes/hashing/hash-worker.js`, for a file below `src`. */
function placeOf(file: string): string {
  return `/${file.split(sep).join('/').replace(/ts$/, 'js')}`;
}
