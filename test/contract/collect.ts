import type { Tree } from './compare.ts';
import { demoDocuments } from './demo.ts';
import { type KeptFiles, mergeKeptFiles, readKeptFiles } from './files.ts';
import { type LiveRun, playLiveRun } from './live-run.ts';
import { RARE, readMessages } from './messages.ts';
import { type Documents, ledgerLines, otherDocuments, receiptDocuments, runDocuments, verifyDocuments } from './outputs.ts';
import { type Shape, shapeOf } from './shape.ts';
import { metricSamples, statusShape } from './status.ts';
import { readTables } from './tables.ts';
import { tempFolder } from '../support/temp-folder.ts';

/** Everything that a program may depend on: names, types and codes, but no sentences. */
export interface Contract {
  /** Names from tables, files and variables. */
  readonly names: Readonly<Record<string, Tree>>;
  /** The shapes of documents, by the command or file that holds them. */
  readonly shapes: Readonly<Record<string, Shape>>;
}

/** Collects the contract from the tables of the source, from real commands and from a real run. */
export async function collectContract(): Promise<Contract> {
  using folder = tempFolder();
  const [live, run, verify, other, receipt] = await Promise.all([
    playLiveRun(folder.path),
    runDocuments(folder.path),
    verifyDocuments(),
    otherDocuments(),
    receiptDocuments(),
  ]);
  const kept = mergeKeptFiles([run.kept, readKeptFiles(live.dir)]);
  const files = { ...fileDocuments('file', kept), ...fileDocuments('copied file', run.copied) };
  const documents: Documents = {
    demo: demoDocuments(),
    ...verify,
    ...other,
    ...receipt,
    ...run.documents,
    ...files,
    ...liveDocuments(live),
  };
  return {
    names: {
      ...(await readTables()),
      messages: readMessages(),
      trainerVariables: live.variables,
      metricSamples: metricSamples(live),
      keptFiles: kept.paths,
      copiedFiles: run.copied.paths,
    },
    shapes: { ...Object.fromEntries(Object.entries(documents).map(([name, all]) => [name, shapeOf(all)])), '/status': statusShape(live) },
  };
}

function fileDocuments(what: string, { documents }: KeptFiles): Documents {
  return Object.fromEntries(Object.entries(documents).map(([path, all]) => [`${what} ${path}`, all]));
}

function liveDocuments(live: LiveRun): Documents {
  const messages = Object.groupBy([...live.messages, ...RARE], ({ type }) => `message ${String(type)}`);
  return {
    ...(messages as Documents),
    'image of a save in memory': live.images,
    'termination message': live.terminationMessages,
    'deadline.json while a notice runs': [live.deadlineFile],
    'ledger line of a real run': ledgerLines(live.dir),
  };
}
