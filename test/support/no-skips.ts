import type { Reporter, TestModule } from 'vitest/node';

/** A proof that did not run proves nothing. Here nothing may be left out where everything is to be had. */
const WHOLE: ReadonlySet<string> = new Set(['supervisor', 'binary', 'crash', 'mounts', 'frameworks', 'kubernetes']);
/** Here single tests may be (not every store can do everything), but no file as a whole. */
const MOSTLY: ReadonlySet<string> = new Set(['stores']);

interface Module {
  readonly project: string;
  readonly file: string;
  readonly passed: number;
  readonly skipped: readonly string[];
}

/** What was left out and must not be, a line each. */
export function leftOut(modules: readonly Module[]): readonly string[] {
  return modules
    .filter(({ project, passed, skipped }) => skipped.length > 0 && (WHOLE.has(project) || (MOSTLY.has(project) && passed === 0)))
    .map(({ project, file, skipped }) => `${project}: ${file} left out ${skipped.length}: ${skipped[0]}`);
}

/** Where CI is set, tests that are skipped because something is missing make the run fail. A run of chosen tests (-t) is not meant. */
export class NoSkips implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = leftOut(modules.map(read));
    if (lines.length === 0 || modules.some(({ project }) => project.config.testNamePattern !== undefined)) return;
    console.error(`\nCI must leave out nothing here, and did:\n${lines.map((line) => `  ${line}`).join('\n')}`);
    process.exitCode = 1;
  }
}

function read(module: TestModule): Module {
  const tests = [...module.children.allTests()];
  return {
    project: module.project.name,
    file: module.relativeModuleId,
    passed: tests.filter((test) => test.result().state === 'passed').length,
    skipped: tests.filter((test) => test.result().state === 'skipped').map(({ fullName }) => fullName),
  };
}
