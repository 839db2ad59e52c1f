/**
 * The sections of a shared AWS file, by name. A setting's own lines below it (`s3 =` and indented
 * settings) become `s3.name`.
 */
export type IniFile = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Reads ~/.aws/config or ~/.aws/credentials. Skips lines without meaning, as all AWS tools do. */
export function parseIni(text: string): IniFile {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | null = null;
  let parent = '';
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const header = /^\s*\[([^\]]+)\]/.exec(line);
    if (header !== null) {
      const name = (header[1] ?? '').trim().replace(/\s+/g, ' ');
      section = sections.get(name) ?? new Map<string, string>();
      sections.set(name, section);
      parent = '';
    } else if (section !== null) parent = readSetting(line, section, parent);
  }
  return sections;
}

/**
 * Reads one setting. Returns the setting whose own lines may follow: this one, the one above, or an
 * empty string.
 */
function readSetting(line: string, section: Map<string, string>, parent: string): string {
  const setting = /^(\s*)([^=\s][^=]*?)\s*=\s*(.*)$/.exec(line);
  if (setting === null) return parent;
  const [, indent = '', name = '', raw = ''] = setting;
  const value = raw.replace(/\s+[#;].*$/, '').trim();
  const isBelow = indent !== '' && parent !== '';
  section.set(isBelow ? `${parent}.${name}` : name, value);
  if (isBelow) return parent;
  return value === '' ? name : '';
}
