# Writes the files beside it: python3 make.py, with pyarrow (25.0.1 wrote them).
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.feather as fe, datetime as dt
utc=dt.timezone.utc
t=pa.table({
 "id": pa.array([1,2,3,4,5],pa.int64()),
 "age": pa.array([31.5,None,float("nan"),-1,0],pa.float64()),
 "small": pa.array([1,2,None,4,5],pa.uint8()),
 "plan": pa.array(["basic",None,"pro","basic","ä☃"]),
 "tier": pa.array(["gold","silver",None,"gold","gold"]).dictionary_encode(),
 "active": pa.array([True,False,None,True,False]),
 "day": pa.array([dt.date(2024,1,31),None,dt.date(1969,12,31),dt.date(2024,2,29),dt.date(2000,1,1)]),
 "at": pa.array([dt.datetime(2024,1,31,12,0,0,500000,tzinfo=utc),None,dt.datetime(1969,12,31,tzinfo=utc),dt.datetime(2024,2,29,tzinfo=utc),dt.datetime(2000,1,1,tzinfo=utc)],pa.timestamp("us",tz="UTC")),
 "nested": pa.array([[1],[2,3],None,[],[4]]),
})
pq.write_table(t,"people.parquet",row_group_size=2)
pq.write_table(t,"people-zstd.parquet",compression="zstd")
with pa.OSFile("people.arrow","wb") as f:
    with pa.ipc.new_stream(f,t.schema) as w: w.write_table(t,max_chunksize=2)
fe.write_feather(t,"people.feather",compression="uncompressed",chunksize=2)
fe.write_feather(t,"people-lz4.feather",compression="lz4")
pq.write_table(pa.table({"n":pa.array([1,2**60])}),"big.parquet")
with pa.OSFile("big.arrow","wb") as f:
    b=pa.table({"n":pa.array([1,2**60])})
    with pa.ipc.new_stream(f,b.schema) as w: w.write_table(b)
