import { ALLOWED_CLASS_MODULES, ALLOWED_NAMES, CLASSES_WITH_EFFECTS } from './allowed-globals.ts';
import { dangerOf } from './dangerous-globals.ts';
import type { GlobalRecord } from './global-register.ts';

/** Modules that Python 2 named differently; loaders map the old name to the new. */
const PYTHON_2_MODULES: ReadonlyMap<string, string> = new Map([
  ['__builtin__', 'builtins'],
  ['copy_reg', 'copyreg'],
  ['cPickle', '_pickle'],
  ['UserDict', 'collections'],
  ['UserList', 'collections'],
  ['StringIO', 'io'],
]);

const ALLOWED = new Map(Object.entries(ALLOWED_NAMES).map(([module, names]) => [module, new Set(names)]));
const CLASS_NAME = /^_{0,2}[A-Z]\w*$/;

/**
 * Returns the reason against importing a name, as the end of a sentence, or null when a framework
 * owns the name.
 */
export function judgeGlobal({ global, use }: Pick<GlobalRecord, 'global' | 'use'>): string | null {
  const module = PYTHON_2_MODULES.get(global.module) ?? global.module;
  const { name } = global;
  if (ALLOWED.get(module)?.has(name) === true) return null;
  if (module.includes('<computed>') || name.includes('<computed>')) return 'a name that only the load itself would work out';
  if (name.startsWith('<extension')) return 'a number whose meaning the loading process decides';
  // Protocol 4 follows the dots of a name through attributes, so `torch` and `os.system` import
  // `os.system`.
  const danger = dangerOf(module, name) ?? dangerInside(name);
  if (danger !== null) return `${danger}: do not load this file`;
  if (!ALLOWED_CLASS_MODULES.some((prefix) => module.startsWith(prefix)) || !CLASS_NAME.test(name))
    return 'which is not one of the frameworks’ own names';
  if (CLASSES_WITH_EFFECTS.has(name)) return 'which a framework only uses itself and never saves';
  return use === 'call' ? 'a class of a framework, with arguments no framework saves' : null;
}

/**
 * Checks inner modules too, because a dotted name may lead into a dangerous module that the first
 * module imported.
 */
function dangerInside(name: string): string | null {
  const parts = name.split('.');
  for (let i = 0; i + 1 < parts.length && i < 16; i++) {
    const danger = dangerOf(parts[i] as string, parts.slice(i + 1).join('.'));
    if (danger !== null) return danger;
  }
  return null;
}
