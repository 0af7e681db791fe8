import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatFault } from '../../src/config/fault.ts';
import { type Loaded, type LoadOptions, loadConfiguration } from '../../src/config/load/load.ts';
import type { Settings } from '../../src/config/settings/settings.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const fixtures = join(root, 'fixtures/config');

/** The cases by `topic/name`, each a folder. */
export function caseNames(): string[] {
  return readdirSync(fixtures).flatMap((topic) =>
    readdirSync(join(fixtures, topic), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => join(topic, name)),
  );
}

export const named = { VCLUSTER_NAME: 'my-vc', NAMESPACE: 'hns' };

export function load(text: string, options: Omit<Partial<LoadOptions>, 'files'> = {}): Loaded {
  return loadConfiguration({ environment: named, ...options, files: [{ name: 'f.yaml', text }] });
}

export function settings(text: string, options: Omit<Partial<LoadOptions>, 'files'> = {}): Settings {
  const loaded = load(text, options);
  if (loaded.kind === 'faults') throw new Error(report(loaded));
  return loaded.settings;
}

/** Loads the folder of a case: all YAML files in the order of their names. */
export function loadFolder(folder: string): Loaded {
  const names = readdirSync(folder).sort();
  const files = names
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => ({ name, text: readFileSync(join(folder, name)) }));
  const options = names.includes('options.json') ? JSON.parse(readFileSync(join(folder, 'options.json'), 'utf8')) : {};
  return loadConfiguration({ environment: named, ...options, files });
}

export function report(loaded: Loaded): string {
  const all = [...(loaded.kind === 'faults' ? loaded.faults : []), ...loaded.warnings];
  return [loaded.kind, ...all.map((of) => formatFault(of, loaded.texts)), ''].join('\n');
}
