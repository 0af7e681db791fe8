// Turns the scope of an object into entries. In: JSON whose types the schema has checked (a value of a wrong type is left out
// here). Out: the entries, every fault with its field, and warnings for deprecated fields.
import { isDnsLabel } from '../../config/settings/text-rules.ts';
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../../object/meta/field-error.ts';
import { isRecord, recordsIn, textsIn } from '../../object/text/json.ts';
import { parseRule } from './parse-rule.ts';
import { all, type Entry, type InstanceName, type RoleName, roleNames, type Scope } from './scope.ts';

export interface ParsedScope {
  scope: Scope;
  errors: FieldError[];
  warnings: string[];
}

/** A person does not write more entries, and each request is compared with all of them. */
const maxEntries = 256;
/** The lists in the entries, together. Each item of a new key's scope is compared with each one of its maker's. */
const maxListed = 2048;

export function parseScope(value: unknown, path = 'spec.scope'): ParsedScope {
  const parse = new ScopeParser(path);
  if (isRecord(value)) parse.scope(value);
  return { scope: { entries: parse.entries }, errors: parse.errors, warnings: parse.warnings };
}

class ScopeParser {
  readonly entries: Entry[] = [];
  readonly errors: FieldError[] = [];
  readonly warnings: string[] = [];
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  scope(value: Record<string, unknown>): void {
    const lists = ['roles', 'projects', 'spaces', 'virtualClusters', 'clusters', 'rules'];
    const count = lists.reduce((sum, list) => sum + recordsIn(value[list]).length, 0);
    if (count > maxEntries) {
      this.errors.push(invalidValue(this.#path, count, `a scope has at most ${maxEntries} entries`));
      return;
    }
    const listed = lists.reduce(
      (sum, list) => sum + recordsIn(value[list]).reduce((most, entry) => most + listedIn(entry), 0),
      0,
    );
    if (listed > maxListed) {
      const why = `the lists in the entries of a scope have at most ${maxListed} items altogether`;
      this.errors.push(invalidValue(this.#path, listed, why));
      return;
    }
    this.#each(value, 'roles', (item, path) => this.#role(item, path));
    this.#each(value, 'projects', (item, path) => {
      const project = this.#name(item, 'project', path, true);
      if (project !== undefined) this.entries.push({ kind: 'project', project, path });
    });
    this.#each(value, 'spaces', (item, path) => {
      const project = this.#name(item, 'project', path, false);
      const space = this.#name(item, 'space', path, true);
      if (project !== undefined && space !== undefined) this.entries.push({ kind: 'space', project, space, path });
    });
    this.#each(value, 'virtualClusters', (item, path) => {
      const project = this.#name(item, 'project', path, false);
      const virtualCluster = this.#name(item, 'virtualCluster', path, true);
      if (project !== undefined && virtualCluster !== undefined)
        this.entries.push({ kind: 'virtualCluster', project, virtualCluster, path });
    });
    this.#each(value, 'clusters', (item, path) => {
      const cluster = this.#name(item, 'cluster', path, true);
      if (cluster !== undefined) this.entries.push({ kind: 'cluster', cluster, path });
    });
    this.#rules(value);
    if (value['allowPlatformCli'] === true) {
      const path = `${this.#path}.allowPlatformCli`;
      this.entries.push({ kind: 'role', role: 'platform-cli', projects: [], virtualClusters: [], path });
    }
    // False has no effect, but its writer should hear of the replacement.
    if (value['allowPlatformCli'] !== undefined)
      this.warnings.push(`${this.#path}.allowPlatformCli: deprecated; use roles with role "platform-cli" instead`);
  }

  #each(value: Record<string, unknown>, list: string, parse: (item: Record<string, unknown>, path: string) => void) {
    const items = value[list];
    if (!Array.isArray(items)) return;
    for (const [index, item] of items.entries()) if (isRecord(item)) parse(item, `${this.#path}.${list}[${index}]`);
  }

  /** A name, or `*` where that stands for all. */
  #name(item: Record<string, unknown>, field: string, path: string, allowsAll: boolean): string | undefined {
    const name = item[field];
    if (typeof name !== 'string' || name === '') {
      this.errors.push(requiredValue(`${path}.${field}`, allowsAll ? `a name, or "${all}" for all` : 'a name'));
      return undefined;
    }
    if ((allowsAll && name === all) || isDnsLabel(name)) return name;
    const words = allowsAll ? `a DNS label, or "${all}" for all` : `a DNS label; "${all}" is not allowed here`;
    this.errors.push(invalidValue(`${path}.${field}`, name, `must be ${words}`));
    return undefined;
  }

  #role(item: Record<string, unknown>, path: string): void {
    const role = item['role'];
    if (typeof role !== 'string' || role === '') {
      this.errors.push(requiredValue(`${path}.role`, `one of ${roleNames.join(', ')}`));
      return;
    }
    const before = this.errors.length;
    const known = roleNames.find((name) => name === role);
    if (known === undefined) this.errors.push(unsupportedValue(`${path}.role`, role, roleNames));
    const projects = textsIn(item['projects']);
    for (const [index, project] of projects.entries()) {
      if (!isDnsLabel(project))
        this.errors.push(invalidValue(`${path}.projects[${index}]`, project, 'must be the name of a project'));
    }
    const virtualClusters = this.#instances(item, path);
    if (known === undefined || this.errors.length > before) return;
    this.#warnOfEmptyRole(known, path);
    this.entries.push({ kind: 'role', role: known, projects, virtualClusters, path });
  }

  #instances(item: Record<string, unknown>, path: string): InstanceName[] {
    return textsIn(item['virtualClusters']).flatMap((text, index) => {
      const [project = '', name = '', ...rest] = text.split('/');
      if (isDnsLabel(project) && isDnsLabel(name) && rest.length === 0) return [{ project, name }];
      const field = `${path}.virtualClusters[${index}]`;
      this.errors.push(invalidValue(field, text, 'must be PROJECT/NAME of a virtual cluster'));
      return [];
    });
  }

  #warnOfEmptyRole(role: RoleName, path: string): void {
    const isEmpty = role === 'network-peer' || role === 'workspace' || role === 'metrics-writer';
    if (isEmpty) this.warnings.push(`${path}.role: "${role}" is accepted and allows nothing here`);
  }

  #rules(value: Record<string, unknown>): void {
    const rules = recordsIn(value['rules']);
    if (rules.length > 0)
      this.warnings.push(`${this.#path}.rules: deprecated; use projects, spaces and virtualClusters instead`);
    this.#each(value, 'rules', (item, path) => {
      const { rule, errors } = parseRule(item, path);
      this.errors.push(...errors);
      if (rule === undefined) return;
      this.entries.push({ ...rule, path });
      const isEmpty = Object.values(item).every(
        (member) => member === '' || (Array.isArray(member) && member.length === 0),
      );
      if (isEmpty) this.warnings.push(`${path}: an empty rule allows everything that the subject may do`);
    });
  }
}

/** Items of the lists of an entry, and of the lists in their items. */
function listedIn(entry: Record<string, unknown>): number {
  return Object.values(entry).reduce<number>((sum, member) => {
    if (!Array.isArray(member)) return sum;
    return member.filter(isRecord).reduce((inner, item) => inner + listedIn(item), sum + member.length);
  }, 0);
}
