// Where a setting stands, asked after the configuration is loaded: for the faults of paths and expressions, which are
// compiled by others and must land in the same report.
import type { Position } from '../fault.ts';
import { positionInText } from './scalar-positions.ts';
import type { SettingsPath } from './settings-path.ts';
import { find, type TreeNode } from './tree.ts';

export class Positions {
  readonly #root: TreeNode | undefined;

  constructor(root: TreeNode | undefined) {
    this.#root = root;
  }

  /** Of the value at the path, else of what is nearest above it; undefined only without any file. */
  positionOf(path: SettingsPath): Position | undefined {
    const node = this.#nearest(path);
    return node?.span.source.positionAt(node.span.start);
  }

  /** Of a place inside a text value, line and column from 1 as the text's own reader counts them. */
  positionInScalar(path: SettingsPath, line: number, column: number): Position | undefined {
    const node = find(this.#root, path);
    if (node?.kind !== 'scalar') return this.positionOf(path);
    return positionInText(node, line, column);
  }

  #nearest(path: SettingsPath): TreeNode | undefined {
    for (let length = path.length; length >= 0; length--) {
      const node = find(this.#root, path.slice(0, length));
      if (node !== undefined) return node;
    }
    return undefined;
  }
}
