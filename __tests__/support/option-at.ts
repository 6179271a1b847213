/** Options with one value, below `paths` where the name says so: `paths.forgot`. */
export function optionAt(name: string, value: string): object {
  const [group = '', member] = name.split('.');
  return { [group]: member === undefined ? value : { [member]: value } };
}
