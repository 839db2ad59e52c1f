import type { KubeObject, Workload } from '../manifest/workload.ts';
import type { Script } from '../script/script.ts';
import type { Hit, Severity } from '../source/finding.ts';
import type { Source } from '../source/source.ts';
import type { Suppression } from './suppress.ts';

/** Everything that is linted together, for rules that hold one thing against another. */
export interface World {
  readonly objects: readonly KubeObject[];
  readonly workloads: readonly Workload[];
  readonly scripts: readonly Script[];
  /** The objects of a kind. */
  ofKind(kind: string): readonly KubeObject[];
  /** The objects of a kind and a name, in whatever namespace. */
  named(kind: string, name: string): readonly KubeObject[];
  /** Pod templates that serve and do not end. */
  readonly services: readonly Workload[];
  /** How long a save takes, if the user gave it. */
  readonly saveMs: number | null;
  /** The script that a workload runs, where exactly one of those that are linted fits. */
  scriptOf(workload: Workload): Script | null;
  /** The workloads that run a script. */
  runnersOf(script: Script): readonly Workload[];
}

/** A manifest, a script, or both: the example of a rule is its test and stands in its page. */
export interface Example {
  readonly manifest?: string;
  readonly script?: string;
}

interface AnyRule {
  readonly code: string;
  readonly severity: Severity;
  /** What is wrong, without a full stop. */
  readonly title: string;
  /** How it hurts, for the page of the rule and `holdfast explain`. */
  readonly why: string;
  /** What to do, as one sentence. */
  readonly fix: string;
  readonly bad: Example;
  readonly good: Example;
  /** It also judges a part of a manifest: nothing that it needs can be somewhere else. */
  readonly readsFragments?: true;
}

/** A rule about one object, whatever it makes. */
export interface ObjectRule extends AnyRule {
  readonly on: 'object';
  check(object: KubeObject, world: World): readonly Hit[];
}

/** A rule about a pod template. */
export interface WorkloadRule extends AnyRule {
  readonly on: 'workload';
  check(workload: Workload, world: World): readonly Hit[];
}

/** A rule about a Python file. */
export interface ScriptRule extends AnyRule {
  readonly on: 'script';
  check(script: Script, world: World): readonly Hit[];
}

/** A rule about a pod template and the script that it runs; findings stand in the manifest. */
export interface PairRule extends AnyRule {
  readonly on: 'pair';
  check(workload: Workload, script: Script, world: World): readonly Hit[];
}

/** A rule about what stands in the text, whatever its language is. */
export interface TextRule extends AnyRule {
  readonly on: 'text';
  check(source: Source): readonly Hit[];
}

/** A rule about the comments that switch rules off. */
export interface CommentRule extends AnyRule {
  readonly on: 'comment';
  check(suppressions: readonly Suppression[], known: ReadonlySet<string>): readonly Hit[];
}

/** A rule of any kind. */
export type Rule = ObjectRule | WorkloadRule | ScriptRule | PairRule | TextRule | CommentRule;
