// Watches the configuration files for changes. Reads them every few seconds, because notices of the file system are not
// reliable for ConfigMap mounts (a swapped symbolic link) and network file systems. A faulty configuration is not applied.
import type { Clock, Timer } from '../../clock.ts';
import type { Fault } from '../fault.ts';
import type { Settings } from '../settings/settings.ts';
import type { SourceFile } from '../yaml/source-text.ts';
import { type SettingChange, settingChanges } from './difference.ts';
import type { Loaded } from './load.ts';
import { type ReadFile, readConfigurationFiles } from './read-files.ts';

/** The kubelet needs about a minute for a ConfigMap, so two seconds more do not matter, and a read takes microseconds. */
export const pollIntervalMs = 2000;
/** A file may be half-written when it is read; contents that stay equal for this time are complete. */
export const settleMs = 300;

export type ConfigurationChange<L extends Loaded = Loaded> =
  | { kind: 'changed'; loaded: Extract<L, { kind: 'ok' }>; changes: readonly SettingChange[] }
  /** After a reload or a corrected fault: the running settings equal the files. */
  | { kind: 'unchanged' }
  | { kind: 'invalid'; faults: readonly Fault[]; texts: ReadonlyMap<string, string> };

export interface WatchOptions<L extends Loaded = Loaded> {
  paths: readonly string[];
  /** The files as read at the start, and the running settings. */
  initial: { files: readonly SourceFile[]; settings: Settings };
  clock: Clock;
  read: ReadFile;
  /** Loads in turns, so that no file can block the other work of the daemon. */
  load(files: readonly SourceFile[]): Promise<L>;
  onChange(change: ConfigurationChange<L>): void;
}

export interface ConfigurationWatch {
  start(): void;
  stop(): Promise<void>;
  /** Reads the files at once, even while they change; for SIGHUP. */
  reload(): Promise<void>;
}

export function watchConfiguration<L extends Loaded>(options: WatchOptions<L>): ConfigurationWatch {
  return new FilesWatch(options);
}

class FilesWatch<L extends Loaded> implements ConfigurationWatch {
  readonly #options: WatchOptions<L>;
  #settings: Settings;
  #running: string;
  #refused: string | undefined;
  #seen: string | undefined;
  #timer: Timer | undefined;
  #isStarted = false;
  #isStopped = false;
  /** Reads run one after the other, so that a reload during a poll cannot apply an older state later. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: WatchOptions<L>) {
    this.#options = options;
    this.#settings = options.initial.settings;
    this.#running = contentOf(options.initial.files);
  }

  start(): void {
    this.#isStarted = true;
    this.#schedule(pollIntervalMs);
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#last;
  }

  async reload(): Promise<void> {
    await this.#queue(() => this.#look({ isAsked: true }));
  }

  #schedule(delayMs: number): void {
    if (!this.#isStarted) return;
    this.#timer = this.#options.clock.after(delayMs, () => {
      void this.#queue(async () => {
        try {
          await this.#look({ isAsked: false });
        } finally {
          this.#schedule(this.#seen === undefined ? pollIntervalMs : settleMs);
        }
      });
    });
  }

  #queue(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #look({ isAsked }: { isAsked: boolean }): Promise<void> {
    const files = await this.#readAll();
    const content = contentOf(files);
    const seenBefore = this.#seen;
    this.#seen = undefined;
    if (content === this.#running) {
      const wasRefused = this.#refused !== undefined;
      this.#refused = undefined;
      if (isAsked || wasRefused) this.#options.onChange({ kind: 'unchanged' });
    } else if (isAsked || content === seenBefore) {
      await this.#take(files, content, isAsked);
    } else if (content !== this.#refused) {
      this.#seen = content;
    }
  }

  async #take(files: readonly SourceFile[], content: string, isAsked: boolean): Promise<void> {
    const loaded = await this.#options.load(files);
    if (this.#isStopped) return;
    if (loaded.kind === 'faults') {
      this.#refused = content;
      this.#options.onChange({ kind: 'invalid', faults: loaded.faults, texts: loaded.texts });
      return;
    }
    const changes = settingChanges(this.#settings, loaded.settings);
    const wasRefused = this.#refused !== undefined;
    this.#refused = undefined;
    this.#running = content;
    this.#settings = loaded.settings;
    if (changes.length > 0)
      this.#options.onChange({ kind: 'changed', loaded: loaded as Extract<L, { kind: 'ok' }>, changes });
    else if (isAsked || wasRefused) this.#options.onChange({ kind: 'unchanged' });
  }

  /** A pipe can be read only once, so its text from the start is used again. */
  async #readAll(): Promise<SourceFile[]> {
    const { paths, initial, read } = this.#options;
    const streams = new Map(initial.files.filter((file) => 'isStream' in file).map((file) => [file.name, file]));
    return await readConfigurationFiles(paths, async (path) => streams.get(path) ?? (await read(path)));
  }
}

function contentOf(files: readonly SourceFile[]): string {
  return JSON.stringify(
    files.map((file) => {
      if ('problem' in file) return { name: file.name, problem: file.problem };
      return { name: file.name, text: typeof file.text === 'string' ? file.text : Buffer.from(file.text).toString() };
    }),
  );
}
