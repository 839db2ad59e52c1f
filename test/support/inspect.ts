import { probe } from '../../src/formats/recognise.ts';
import type { MemberFindings } from '../../src/formats/reading/format.ts';
import { FILE_SET_FORMATS } from '../../src/formats/table.ts';
import { Findings } from '../../src/formats/reading/findings.ts';
import { openTree } from '../../src/bytes/source/tree.ts';

/**
 * Runs the format readers over a path without the engine: a directory format, a file set, or a
 * single file.
 */
export function inspectPath(path: string): MemberFindings {
  const { tree, file } = openTree(path);
  try {
    if (file !== null && tree.root.entries.size === 1) return probe.inspectFile(tree.root, file);
    const claimed = file === null ? probe.inspectDirectory(tree.root) : null;
    if (claimed !== null) return claimed;
    for (const format of FILE_SET_FORMATS) {
      const set = format.claim(tree.root).find(({ members }) => file === null || members.includes(file));
      if (set === undefined) continue;
      const findings = new Findings();
      format.inspect(set, tree.root, findings, probe);
      return { format: format.id, findings };
    }
    throw new Error(`no format claims ${path}`);
  } finally {
    tree.close();
  }
}
