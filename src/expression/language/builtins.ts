// The list of JavaScript builtins that an expression may use. The check at load refuses every other builtin, and the realm in
// the sandbox deletes it; both share this list.

/** The properties that each global keeps, besides name, length and prototype. All others are deleted. */
export const keptStatics: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    Object: ['keys', 'values', 'entries', 'assign', 'fromEntries', 'freeze', 'is', 'hasOwn', 'groupBy'],
    Array: ['isArray', 'from', 'of'],
    String: ['fromCharCode', 'fromCodePoint'],
    Number: [
      ...['isFinite', 'isInteger', 'isNaN', 'isSafeInteger', 'parseFloat', 'parseInt'],
      ...['EPSILON', 'MAX_SAFE_INTEGER', 'MIN_SAFE_INTEGER', 'MAX_VALUE', 'MIN_VALUE'],
      ...['NaN', 'NEGATIVE_INFINITY', 'POSITIVE_INFINITY'],
    ],
    Boolean: [],
    Math: [
      ...['E', 'LN10', 'LN2', 'LOG10E', 'LOG2E', 'PI', 'SQRT1_2', 'SQRT2', 'abs', 'acos', 'acosh', 'asin'],
      ...['asinh', 'atan'],
      ...['atan2', 'atanh', 'cbrt', 'ceil', 'clz32', 'cos', 'cosh', 'exp', 'expm1', 'floor', 'fround', 'hypot', 'imul'],
      ...['log', 'log10', 'log1p', 'log2', 'max', 'min', 'pow', 'round', 'sign', 'sin', 'sinh', 'sqrt', 'tan'],
      ...['tanh', 'trunc'],
    ],
    JSON: ['parse', 'stringify'],
    Date: ['UTC', 'parse'],
    RegExp: [],
    Map: [],
    Set: [],
    Error: [],
    TypeError: [],
    RangeError: [],
    SyntaxError: [],
  }),
);

/** The properties that each prototype keeps; names that start with @@ are symbols. */
export const keptMethods: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    Object: ['hasOwnProperty', 'toString', 'valueOf', 'propertyIsEnumerable'],
    Function: ['apply', 'bind', 'call', 'length', 'name', '@@hasInstance'],
    Array: [
      ...['at', 'concat', 'copyWithin', 'entries', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast'],
      ...['findLastIndex', 'flat', 'flatMap', 'forEach', 'includes', 'indexOf', 'join', 'keys', 'lastIndexOf'],
      ...['length'],
      ...['map', 'pop', 'push', 'reduce', 'reduceRight', 'reverse', 'shift', 'slice', 'some', 'sort', 'splice'],
      ...['toReversed', 'toSorted', 'toSpliced', 'toString', 'unshift', 'values', 'with', '@@iterator'],
    ],
    String: [
      ...['at', 'charAt', 'charCodeAt', 'codePointAt', 'concat', 'endsWith', 'includes', 'indexOf', 'isWellFormed'],
      ...['lastIndexOf', 'length', 'match', 'matchAll', 'normalize', 'padEnd', 'padStart', 'repeat', 'replace'],
      ...['replaceAll', 'search', 'slice', 'split', 'startsWith', 'substr', 'substring', 'toLowerCase', 'toString'],
      ...['toUpperCase', 'toWellFormed', 'trim', 'trimEnd', 'trimStart', 'valueOf', '@@iterator'],
    ],
    Number: ['toExponential', 'toFixed', 'toPrecision', 'toString', 'valueOf'],
    Boolean: ['toString', 'valueOf'],
    Date: [
      ...['getTime', 'valueOf', 'toISOString', 'toJSON', 'toString', 'toUTCString', '@@toPrimitive'],
      ...['getDate', 'getDay', 'getFullYear', 'getHours', 'getMilliseconds', 'getMinutes', 'getMonth', 'getSeconds'],
      ...['getUTCDate', 'getUTCDay', 'getUTCFullYear', 'getUTCHours', 'getUTCMilliseconds', 'getUTCMinutes'],
      ...['getUTCMonth', 'getUTCSeconds', 'setUTCDate', 'setUTCFullYear', 'setUTCHours', 'setUTCMilliseconds'],
      ...['setUTCMinutes', 'setUTCMonth', 'setUTCSeconds', 'setTime'],
    ],
    RegExp: [
      ...['exec', 'test', 'toString', 'source', 'flags', 'global', 'ignoreCase', 'multiline', 'dotAll', 'unicode'],
      ...['unicodeSets', 'sticky', 'hasIndices', '@@match', '@@matchAll', '@@replace', '@@search', '@@split'],
    ],
    Map: ['clear', 'delete', 'entries', 'forEach', 'get', 'has', 'keys', 'set', 'size', 'values', '@@iterator'],
    Set: ['add', 'clear', 'delete', 'entries', 'forEach', 'has', 'keys', 'size', 'values', '@@iterator'],
    Error: ['message', 'name', 'toString'],
    TypeError: ['message', 'name'],
    RangeError: ['message', 'name'],
    SyntaxError: ['message', 'name'],
  }),
);

export const globalFunctions = [
  ...['parseInt', 'parseFloat', 'isNaN', 'isFinite'],
  ...['encodeURIComponent', 'decodeURIComponent', 'encodeURI', 'decodeURI'],
];

export const globalConstants = ['undefined', 'NaN', 'Infinity'];

/** Names that Hostward adds: the inputs of an expression, and functions. */
export const inputs = ['value', 'valueExists', 'context'];
export const ownFunctions = ['atob', 'btoa', 'virtualToHostDNS'];
export const contextMembers = ['vcluster', 'hostObject', 'virtualObject', 'path'];

export const freeNames: ReadonlySet<string> = new Set([
  ...keptStatics.keys(),
  ...globalFunctions,
  ...globalConstants,
  ...inputs,
  ...ownFunctions,
]);

export const constructors: ReadonlySet<string> = new Set(
  [...keptStatics.keys()].filter((name) => !['Math', 'JSON', 'String', 'Number', 'Boolean'].includes(name)),
);

/** Names that lead from a value to its constructor or prototype. Other member names of functions are useful keys of data. */
export const machineryNames: ReadonlySet<string> = new Set([
  ...['constructor', 'prototype', '__proto__'],
  ...['caller', 'callee', 'arguments'],
  ...['__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__'],
]);

/** Methods whose results depend on the locale or the time zone of the machine. */
export const removedMethods: ReadonlyMap<string, string> = new Map([
  ['localeCompare', 'compare with "<" and ">"'],
  ['toLocaleString', 'use toString()'],
  ['toLocaleDateString', 'use toISOString()'],
  ['toLocaleTimeString', 'use toISOString()'],
  ['toLocaleUpperCase', 'use toUpperCase()'],
  ['toLocaleLowerCase', 'use toLowerCase()'],
  ['getTimezoneOffset', 'times are UTC here'],
]);

/** The prefix of all names that the printed code adds; no expression may use it. */
export const rewritePrefix = '$$';
