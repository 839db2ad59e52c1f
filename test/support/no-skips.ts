import type { Reporter, TestModule } from 'vitest/node';

/**
 * In these suites no test may be skipped when everything they need is available: a proof that did
 * not run proves nothing.
 */
const WHOLE: ReadonlySet<string> = new Set(['supervisor', 'binary', 'crash', 'mounts', 'frameworks', 'kubernetes']);
/**
 * In these suites single tests may be skipped (not every store can do everything), but no whole
 * file.
 */
const MOSTLY: ReadonlySet<string> = new Set(['stores']);

interface Module {
  readonly project: string;
  readonly file: string;
  readonly passed: number;
  readonly skipped: readonly string[];
}

/** The tests that were skipped and must not be, one line each. */
function leftOut(modules: readonly Module[]): readonly string[] {
  return modules
    .filter(({ project, passed, skipped }) => skipped.length > 0 && (WHOLE.has(project) || (MOSTLY.has(project) && passed === 0)))
    .map(({ project, file, skipped }) => `${project}: ${file} left out ${skipped.length}: ${skipped[0]}`);
}

/**
 * With CI set, a skip for lack of something makes the run fail. Runs of chosen tests (-t) are
 * exempt.
 */
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
