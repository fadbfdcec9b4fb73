export const ComparePage = () => <p>compare</p>;
