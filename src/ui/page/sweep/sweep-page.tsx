export const SweepPage = ({ id }: { id: string | undefined }) => <p>{id}</p>;
