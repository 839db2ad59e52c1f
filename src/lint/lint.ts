import { readObjects } from './manifest/objects.ts';
import type { KubeObject, Workload } from './manifest/workload.ts';
import { RULES } from './catalogue.ts';
import { isMarkdown } from './source/markdown.ts';
import { partsOf } from './source/parts.ts';
import { isRelevant, readScript } from './script/read-script.ts';
import type { Script } from './script/script.ts';
import type { Edit, Finding, Hit, Skip, Suppressed } from './source/finding.ts';
import type { Rule, World } from './engine/rule.ts';
import { type Position, positionsOf, type Source, type Span } from './source/source.ts';
import { type Suppression, suppressionsOf } from './engine/suppress.ts';
import { makeWorld } from './engine/world.ts';

const KNOWN_CODES: ReadonlySet<string> = new Set(RULES.map(({ code }) => code));

/** What is asked of a lint. */
export interface LintOptions {
  /** Only these rules; all where it is null. */
  readonly codes: ReadonlySet<string> | null;
  /** How long a save takes, if the user gives it. */
  readonly saveMs: number | null;
}

/** The answer over all sources. */
export interface LintResult {
  readonly findings: readonly Finding[];
  readonly suppressed: readonly Suppressed[];
  readonly skips: readonly Skip[];
  /** Objects that rules were held against, and Python files that were parsed. */
  readonly objects: number;
  readonly scripts: number;
  /** Python files that have nothing to do with training. */
  readonly otherScripts: number;
  /** Objects of kinds that no rule is about, by kind. */
  readonly otherKinds: ReadonlyMap<string, number>;
}

/** Lints texts: pure, in memory, and never throws because of what they hold. */
export function lint(sources: readonly Source[], options: LintOptions): LintResult {
  const read = readAll(sources);
  const world = makeWorld(read.objects, read.scripts, options.saveMs);
  const rules = RULES.filter(({ code }) => options.codes === null || options.codes.has(code));
  const objects = Map.groupBy(read.objects, ({ path }) => path);
  const places = new Map(
    sources.map((source) => {
      // The objects of one document have their list of what is shared in common.
      const shared = [...new Set(objects.get(source.path)?.map((object) => object.shared))].flat();
      return [source.path, new Places(source, shared)];
    }),
  );
  const findings: Finding[] = [];
  const suppressed: Suppressed[] = [];
  for (const rule of rules) {
    for (const { path, hit } of hitsOf(rule, world, { sources, texts: read.texts })) {
      const place = places.get(path);
      if (place === undefined) continue;
      const finding = place.finding(rule, hit);
      const off = rule.on === 'comment' ? undefined : place.suppressing(finding, hit);
      if (off === undefined) findings.push(finding);
      else suppressed.push({ ...finding, reason: off.reason });
    }
  }
  const { skips, otherKinds, otherScripts } = read;
  const sorted = unique(findings).toSorted(byPlace);
  return {
    findings: sorted,
    suppressed: unique(suppressed).toSorted(byPlace),
    skips,
    objects: read.objects.length,
    scripts: read.scripts.length,
    otherScripts,
    otherKinds,
  };
}

function readAll(sources: readonly Source[]) {
  const objects: KubeObject[] = [];
  const scripts: Script[] = [];
  const skips: Skip[] = [];
  const otherKinds = new Map<string, number>();
  let otherScripts = 0;
  const texts = sources.flatMap(partsOf);
  for (const { source, language } of texts) {
    const skip = ({ kind, at, message }: { kind: Skip['kind']; at: number; message: string }): void => {
      skips.push({ path: source.path, start: positionsOf(source.text)(at), kind, message });
    };
    if (language === 'yaml') {
      const read = readObjects(source);
      // Not as arguments of one call: a file may hold more objects than a call takes.
      for (const one of read.objects) objects.push(one);
      for (const one of read.skips) skip(one);
      for (const [kind, count] of read.otherKinds) otherKinds.set(kind, (otherKinds.get(kind) ?? 0) + count);
    } else if (language === 'python' && isRelevant(source.text)) {
      const read = readScript(source);
      if ('script' in read) scripts.push(read.script);
      else skip(read);
    } else if (language === 'python') otherScripts++;
  }
  return { objects, scripts, skips, otherKinds, otherScripts, texts: texts.map(({ source }) => source) };
}

type PlacedHit = { readonly path: string; readonly hit: Hit };

/** What was given, and the same as texts of one language. */
interface Texts {
  readonly sources: readonly Source[];
  readonly texts: readonly Source[];
}

function hitsOf(rule: Rule, world: World, { sources, texts }: Texts): readonly PlacedHit[] {
  switch (rule.on) {
    case 'object':
      return placed(world.objects, pathOf, (object) => (isFor(rule, object) ? rule.check(object, world) : NO_HITS));
    case 'workload':
      return placed(world.workloads, objectPathOf, (workload) => (isFor(rule, workload.object) ? rule.check(workload, world) : NO_HITS));
    case 'script':
      return placed(world.scripts, pathOf, (script) => rule.check(script, world));
    case 'pair':
      return placed(world.workloads, objectPathOf, (workload) => {
        const script = world.scriptOf(workload);
        return script !== null && isFor(rule, workload.object) ? rule.check(workload, script, world) : NO_HITS;
      });
    case 'text':
      return placed(texts, pathOf, (source) => rule.check(source));
    case 'comment':
      return placed(sources, pathOf, ({ text }) => rule.check(suppressionsOf(text), KNOWN_CODES));
  }
}

const NO_HITS: readonly Hit[] = [];
const pathOf = ({ path }: { readonly path: string }): string => path;
const objectPathOf = ({ object }: Workload): string => object.path;

/** What a check finds in each of these, with its file. Most find nothing, and there are many. */
function placed<T>(all: readonly T[], fileOf: (one: T) => string, check: (one: T) => readonly Hit[]): readonly PlacedHit[] {
  const found: PlacedHit[] = [];
  for (const one of all) for (const hit of check(one)) found.push({ path: fileOf(one), hit });
  return found;
}

function isFor({ readsFragments }: Rule, { isFragment }: KubeObject): boolean {
  return readsFragments === true || !isFragment;
}

/** One source with what is needed to place findings in it. */
class Places {
  readonly #source: Source;
  readonly #shared: readonly Span[];
  #at: ((offset: number) => Position) | null = null;
  #isEdited: boolean | null = null;
  #suppressions: readonly Suppression[] | null = null;

  constructor(source: Source, shared: readonly Span[]) {
    this.#source = source;
    this.#shared = shared;
  }

  /**
   * None in Markdown and in scripts, and none where one of them would change what another object
   * has in common with this one.
   */
  #ownEdits(edits: readonly Edit[]): readonly Edit[] {
    this.#isEdited ??= !isMarkdown(this.#source) && partsOf(this.#source)[0]?.language === 'yaml';
    if (!this.#isEdited) return [];
    const isShared = edits.some((edit) => this.#shared.some((span) => edit.from >= span.from && edit.to <= span.to));
    return isShared ? [] : edits;
  }

  finding({ code, severity, fix }: Rule, { at, message, edits = [] }: Hit): Finding {
    this.#at ??= positionsOf(this.#source.text);
    const end = at.from + this.#source.text.slice(at.from, at.to).trimEnd().length;
    const firstLine = this.#source.text.indexOf('\n', at.from);
    const to = firstLine >= 0 && firstLine < end ? firstLine : end;
    return {
      code,
      severity,
      path: this.#source.path,
      start: this.#at(at.from),
      end: this.#at(Math.max(at.from, to)),
      message,
      fix,
      edits: this.#ownEdits(edits),
    };
  }

  suppressing({ code, start }: Finding, { at }: Hit): Suppression | undefined {
    this.#suppressions ??= suppressionsOf(this.#source.text);
    return this.#suppressions.find(
      ({ codes, reason, lines, scope }) =>
        codes.includes(code) &&
        reason !== '' &&
        (lines === null ? at.from >= scope.from && at.from <= scope.to : start.line >= lines.first && start.line <= lines.last),
    );
  }
}

function byPlace(a: Finding, b: Finding): number {
  return a.path < b.path
    ? -1
    : a.path > b.path
      ? 1
      : a.start.line - b.start.line || a.start.column - b.start.column || (a.code < b.code ? -1 : 1);
}

/** A node that an alias repeats is one place. */
function unique<T extends Finding>(findings: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  return findings.filter(({ code, path, start }) => {
    const key = `${code}\n${path}\n${start.line}:${start.column}`;
    return seen.has(key) ? false : seen.add(key) !== undefined;
  });
}
