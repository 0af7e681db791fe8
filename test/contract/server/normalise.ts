// Replaces the values of an answer that differ from run to run by stable names. The first uid of a case becomes <uid 1> in
// every answer, so equal uids and resourceVersions stay recognisable as equal.

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
const timestamp = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z/g;
const generated = /^[bcdfghjklmnpqrstvwxz2456789]{5}$/;
/** The service range of the test servers; a case that requests an address uses one outside it. */
const clusterIp = /^10\.0\.\d+\.\d+$/;
/** A time this close to now was set by the server; cases use times of other years. */
const recentMs = 86_400_000;

export class Normaliser {
  #uids = new Map<string, string>();
  #versions = new Map<string, string>();
  #namespace: string;
  #keepManagedFields = false;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  normalise(value: unknown, options: { managedFields: boolean }): Json {
    this.#keepManagedFields = options.managedFields;
    return this.#walk(value as Json);
  }

  text(text: string): string {
    return this.#string(text);
  }

  #walk(value: Json): Json {
    if (typeof value === 'string') return this.#string(value);
    if (Array.isArray(value)) return value.map((item) => this.#walk(item));
    if (value === null || typeof value !== 'object') return value;
    const from = isTable(value) ? withoutTableNoise(value) : withoutAges(value);
    if (from['kind'] === 'Status') return this.#status(from);
    const collection = Array.isArray(from['items']) || Array.isArray(from['rows']);
    const result: { [key: string]: Json } = {};
    for (const [key, member] of Object.entries(from)) {
      if (key === 'managedFields' && !this.#keepManagedFields) continue;
      // The server sorts them by time first, and two requests may or may not fall into the same second.
      if (key === 'managedFields' && Array.isArray(member))
        member.sort((a, b) => (managerOf(a) < managerOf(b) ? -1 : 1));
      result[key] = key === 'metadata' ? this.#metadata(member, collection) : this.#member(key, member);
    }
    return result;
  }

  /** Several causes come in any order, because a real server iterates over a map; the message repeats them. */
  #status(status: { [key: string]: Json }): Json {
    const result = Object.fromEntries(Object.entries(status).map(([key, value]) => [key, this.#member(key, value)]));
    const details = result['details'] as { causes?: Json[] } | undefined;
    if (details?.causes === undefined || details.causes.length < 2) return result;
    details.causes.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    result['message'] = String(result['message']).replace(/ is invalid: [\s\S]*$/, ' is invalid: <the causes>');
    return result;
  }

  #member(key: string, value: Json): Json {
    if (key === 'message' && typeof value === 'string') return this.#message(value);
    if (typeof value === 'string' && clusterIp.test(value)) return '<cluster ip>';
    if (key === 'clusterIPs' && Array.isArray(value))
      return value.map((item) =>
        typeof item === 'string' && clusterIp.test(item) ? '<cluster ip>' : this.#walk(item),
      );
    return this.#walk(value);
  }

  #metadata(value: Json, collection: boolean): Json {
    const result = this.#walk(value);
    if (result === null || typeof result !== 'object' || Array.isArray(result)) return result;
    const version = result['resourceVersion'];
    if (typeof version === 'string') result['resourceVersion'] = collection ? '<of the list>' : this.#version(version);
    if (typeof result['continue'] === 'string' && result['continue'] !== '') result['continue'] = '<continue>';
    const { name, generateName } = result;
    if (typeof name === 'string' && typeof generateName === 'string' && name.startsWith(generateName)) {
      if (generated.test(name.slice(generateName.length))) result['name'] = `${generateName}<5 characters>`;
    }
    return result;
  }

  #version(version: string): string {
    return named(this.#versions, version, 'rv');
  }

  #message(message: string): string {
    const text = this.#string(message)
      .replace(/(resource version: )\d+ \(\d+\)/g, '$1<old> (<oldest>)')
      // The storage path of an object may differ between servers.
      .replace(/StorageError: invalid object, Code: 4, Key: \S+, ResourceVersion: \d+, AdditionalErrorMsg: /, '')
      // The texts of a decoder depend on its programming language.
      .replace(/ in scheme "[^"]*"/g, '')
      .replace(/(json: cannot unmarshal|json parse error:|strconv\.|converting \()[\s\S]*$/, "<the decoder's words>")
      .replace(/(current: )\d+/g, '$1<rv>');
    return [...this.#versions].reduce((all, [version, name]) => replaceNumber(all, version, name), text);
  }

  #string(text: string): string {
    return text
      .replaceAll(this.#namespace, '$ns')
      .replace(uuid, (uid) => named(this.#uids, uid, 'uid'))
      .replace(timestamp, (time) =>
        Math.abs(Date.parse(time) - Date.now()) < recentMs ? (time.includes('.') ? '<micro time>' : '<time>') : time,
      );
  }
}

function named(names: Map<string, string>, value: string, word: string): string {
  let name = names.get(value);
  if (name === undefined) {
    name = `<${word} ${names.size + 1}>`;
    names.set(value, name);
  }
  return name;
}

/** Longer numbers only, because short ones may be counts or ports of the case. */
function replaceNumber(text: string, version: string, name: string): string {
  return version.length < 3 ? text : text.replace(new RegExp(`\\b${version}\\b`, 'g'), name);
}

function isTable(value: { [key: string]: Json }): boolean {
  return value['kind'] === 'Table' && Array.isArray(value['columnDefinitions']);
}

/** Ages change with the clock, and column descriptions are not part of the contract. */
function withoutTableNoise(table: { [key: string]: Json }): { [key: string]: Json } {
  const columns = (table['columnDefinitions'] as { [key: string]: Json }[]).map(({ description: _, ...rest }) => rest);
  const moving = new Set(['Age', 'Last Seen', 'First Seen']);
  const rows = (table['rows'] as { [key: string]: Json }[] | undefined)?.map((row) => ({
    ...row,
    cells: (row['cells'] as Json[]).map((cell, index) =>
      moving.has(String(columns[index]?.['name'])) ? '<age>' : cell,
    ),
  }));
  return { ...table, columnDefinitions: columns, ...(rows === undefined ? {} : { rows }) };
}

/** A watch names its columns in the first event only, so later ages are recognised by their form. */
function withoutAges(value: { [key: string]: Json }): { [key: string]: Json } {
  if (value['kind'] !== 'Table' || !Array.isArray(value['rows'])) return value;
  const rows = (value['rows'] as { [key: string]: Json }[]).map((row) => ({
    ...row,
    cells: (row['cells'] as Json[]).map((cell) => (/^\d+s$/.test(String(cell)) ? '<age>' : cell)),
  }));
  return { ...value, rows };
}

function managerOf(entry: Json): string {
  const { operation, manager, subresource } = entry as { [key: string]: Json };
  return `${String(operation)} ${String(manager)} ${String(subresource ?? '')}`;
}
